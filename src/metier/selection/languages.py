"""The language of a text, and the form of its words that a table is keyed by: folded spelling, light stems, stop words.

Other scripts than Latin tell the language at once. Among languages in Latin script the function words decide, and English wins
every tie, because a wrong guess costs an English request more than a missed one costs a German request.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

__all__ = [
    "LANGUAGES",
    "SCRIPTS",
    "UNSPACED",
    "UNSPACED_RUN",
    "detect_language",
    "fold",
    "light_stem",
    "script_language",
    "stop_words",
]

LANGUAGES = ("de", "es", "fr", "ja", "ko", "pt", "ru", "zh")
UNSPACED = ("ja", "ko", "zh")
"""Languages whose words are found by the table: without spaces, or with particles and endings that stick to the words."""

# At most two ranges: a class of more is compiled to a table, which takes a millisecond.
SCRIPTS = re.compile(r"[\u0400-\u04ff\u3040-\ud7af]")
UNSPACED_RUN = re.compile(r"[\u3040-\ud7af]+")
_KANA = re.compile(r"[\u3040-\u30ff]")
_HAN = re.compile(r"[\u3400-\u9fff]")
_HANGUL = re.compile(r"[\uac00-\ud7af]")
_LETTERS = re.compile(r"(?<!\w)[^\W\d_]+(?!\w)")

_FUNCTION_WORDS = {
    "en": """a an the and or of to in on for with from by at is are was be been it its this that these those my your
        our their i you we they he she me us them do does did not no can could should would will have has had if how
        what why when where which who as into about please help need want make all any there""",
    "de": """der die das den dem des ein eine einen einem einer eines und oder nicht mit von zu zum zur aus bei nach
        für auf im ist sind war wird werden kann können soll ich du er wir ihr mir mich dir uns mein meine meinen
        meiner meinem unser unsere unseren dieser diese dieses diesen diesem alle wie warum wo wenn dass bitte auch
        noch nur kein keine als über unter vor ohne durch brauche möchte will hilf habe hat gibt es sie ins ans aufs
        vom beim damit daraus welche welcher mal""",
    "es": """el la los las un una unos unas y o de del al en con por para que como cómo es son está están no mi mis
        tu su sus me te se lo este esta estos estas ese esa todo todos todas más pero si sin sobre entre hasta desde
        necesito quiero puedes puede ayúdame favor hay qué cuál cuáles dónde cuando nuestro nuestra nuestros
        nuestras hazme dame""",
    "fr": """le la les un une des du de et ou à au aux en dans avec pour par sur que qui est sont pas ne mon ma mes
        ton ta tes son sa ses notre nos votre vos leur leurs ce cet cette ces je tu il elle nous vous ils me moi te
        se tout tous toutes plus mais si sans entre comment pourquoi quel quelle quelles où peux peut veux voudrais
        besoin faut aide chaque depuis""",
    "pt": """o os as um uma uns umas e ou de do da dos das no na nos nas em com por para que como é são está estão
        não meu minha meus minhas seu sua seus suas me te se lo este esta estes estas esse essa isso todo todos
        todas mais mas sem sobre entre até desde preciso quero você pode favor há qual quais onde quando nosso nossa
        nossos nossas ao aos à às pelo pela num numa""",
}  # fmt: skip
_FUNCTION = {language: frozenset(words.split()) for language, words in _FUNCTION_WORDS.items()}
_LATIN = ("de", "es", "fr", "pt")
_TELLING = {"de": "äöüß", "es": "ñ¿¡", "fr": "œùêîûëïèç", "pt": "ãõ"}
"""Letters that hardly occur in the other three."""

_STOP_WORDS = {
    "de": """hier dort dann doch schon sehr hab ihn ihm ihnen man sich sein seine seinen einmal etwas ganz gerade
        immer mehr viel viele jetzt heute neu neue neuen neues neuer gut bitte kannst könntest helfen helft lass
        lassen daher denn aber um am an ab bis so was wer wen weil mag danke sowie sollen sollte muss müssen würde
        gerne gern""",
    "es": """ha he han hay ser estar muy ya también así porque nos les le eso esto aquí ahora nuevo nueva nuevos
        nuevas ayuda ayudar gracias tengo tiene hace cada donde debo poder quisiera mismo algún alguna algo muchos
        muchas mucho""",
    "fr": """ai as a avons avez ont être avoir suis été très déjà aussi ainsi car lui cela ça ceci ici maintenant
        nouveau nouvelle nouveaux nouvelles aider merci y c d l j m n s t qu quand afin puis donc même peu peut-être
        quelques stp svp""",
    "pt": """há ser estar foi muito já também assim porque nos lhe isto aqui agora novo nova novos novas ajuda ajude
        ajudar obrigado tenho tem faz cada poder gostaria queria mesmo algum alguma algo muitos muitas eu ele ela
        eles nós a""",
    "ru": """и в во не что он на я с со как а то все всё она так его но да ты к у же вы за бы по только её ее мне
        было вот от меня ещё еще нет о из ему теперь когда даже ну ли если уже или быть был него до вас опять вам
        ведь там потом себя ничего ей может они тут где есть надо ней для мы тебя их чем была сам чтоб без будто
        чего раз тоже себе под будет ж тогда кто этот того потому этого какой совсем ним здесь этом один почти мой
        моя моё мои моего моей моих моем моём нам нас наш наша наше наши нашего нашей наших нужно нужен нужна хочу
        можешь можно пожалуйста помоги помогите помочь эту это эти этой этих который которая которые которых все
        всех весь вся через при об над между про почему чтобы новый новая новое новые нового новую свой свою свои
        мою моему как-то""",
    "zh": """的 了 和 是 在 我 你 他 我们 你们 他们 这 那 这个 那个 这些 那些 请 帮 帮我 帮忙 给 给我 把 将 用 对 从
        到 与 或 也 都 就 要 想 想要 需要 可以 能 能不能 怎么 如何 什么 为什么 吗 呢 吧 啊 一个 一下 一份 一些 一篇
        一张 一段 一条 一封 一套 几个 里 里面 中 上 下 让 被 很 更 最 并 并且 以及 还 还有 然后 所有 每个 每 有 没有
        不 出来 出 成 为 之 其 该 本 个 份 篇 张 段 条 封 下面 关于 根据 按照 时候 时 后 前 是否 哪些 哪个 自己 现在
        今天 起来 来 去 做成 进行 新 新的 我的 你的 我要 我想 是什么 多 少 好 请帮我""",
    "ja": """の を に は が で と へ も や から まで より など か ね よ な だ です ます した する して ください
        下さい ほしい 欲しい したい たい れる られる いる ある なる この その あの これ それ どの どう なぜ 何 私
        自分 全て すべて ため ように ような について として こと もの とき できる でき お願い おねがい お願いします
        お ご 的 化 用 中 後 前 内 新しい ない なく って という ました ませ てる てください しよう せる させる だけ
        ごと 毎 各 方法 やり方 教えて くれ もらえ ませんか いい よう ている ておい て し い""",
    "ko": """을 를 이 가 은 는 의 에 에서 로 으로 와 과 도 만 까지 부터 에게 한테 께 이나 나 하고 랑 해 해줘
        해주세요 해줄래 해서 하기 하는 한 할 합니다 해야 하고싶어 줘 주세요 주실 줄래 달라 좀 제 내 저 우리 이것
        그것 저것 모든 각 어떻게 왜 무엇 뭐 있는 있어 없는 없어 위한 위해 대한 대해 대해서 같은 것 수 때 싶어 싶어요
        도와줘 도와주세요 된 되는 되어 하나 들 들을 들이 인 적 적인 새 새로운 써서 로서 라고 다 어 아 여 했 하 고 며
        면 지 요 려고 해보 봐 봐줘 보여줘 알려줘""",
}  # fmt: skip
_STOP = {language: frozenset(words.split()) | _FUNCTION.get(language, frozenset()) for language, words in _STOP_WORDS.items()}

_ENDINGS = {
    "de": "ungen ung erinnen innen heiten keiten ern end est ten tet tes ter tem ete en er em es et te st e n s t",
    "es": """aciones iciones imientos amientos adoras adores ándolo arlos arlas arlo arla arme irlo irla irme erlo
        erla ciones iendo ando ación ición adas ados idas idos aron ieron aba aban ar er ir ado ida ido ada amos
        emos imos áis éis ame eme alo ala elo ela alos alas elos elas as es os an en a e o s""",
    "fr": """issements issement ations ation ements ement issons issez issent ements euses euse eurs eur ées ée és
        er ez ent ons ions iez ait ais aient ant ante antes ants ir is it ie ies es e s é a x t""",
    "pt": """amentos amento imento imentos ações ação ições ição ando endo indo adas ados idas idos aram eram iram
        ava avam ar er ir ado ada ido ida amos emos imos ões ão ães arem irem eis ais óis as es os am em a e o s m""",
    "ru": """иваниями ованиями ование ования ованию ованием ировать ировании иями ями ами ией ием иям иях ого его
        ому ему ыми ими ой ей ый ий ая яя ое ее ые ие ую юю ым им ом ем ах ях ов ев ам ям ть ти ите йте ешь ет ют ут
        ат ят ишь ит ил ила или ала али ал ла ли ло ю у а я о е и ы ь й л""",
}  # fmt: skip
_FOLDED_ENDINGS: dict[str, tuple[str, ...]] = {}
_SHORTEST = {"de": 4, "es": 3, "fr": 3, "pt": 3, "ru": 3}


def script_language(text: str) -> str:
    """Returns the language of a text in another script than Latin, or ""."""
    if _HANGUL.search(text):
        return "ko"
    if _KANA.search(text):
        return "ja"
    if _HAN.search(text):
        return "zh"
    return "ru" if SCRIPTS.search(text) else ""


def detect_language(text: str) -> str:
    """Returns one of `LANGUAGES`, "en", or "" if a short text in Latin script has no function word."""
    letters = sum(map(len, _LETTERS.findall(text)))
    foreign = len(SCRIPTS.findall(text))
    # A character of Chinese says as much as several letters.
    weight = 3 if not foreign or script_language(text) != "ru" else 1
    if foreign * weight * 2 > letters - foreign:
        return script_language(text)
    return _detect_latin(text) if foreign * 4 <= letters else script_language(text)


def _detect_latin(text: str) -> str:
    words = [word.lower() for word in _LETTERS.findall(text)]
    points = {language: float(sum(word in _FUNCTION[language] for word in words)) for language in ("en", *_LATIN)}
    if not text.isascii():
        low = text.lower()
        for language, letters in _TELLING.items():
            # A name may have such a letter, so it needs a function word beside it.
            points[language] += (1.0 if points[language] else 0.5) * any(letter in low for letter in letters)
    best = max(_LATIN, key=lambda language: points[language])
    if points[best] > points["en"] and points[best] >= 1.5:
        return best
    return "en" if points["en"] else ""


def stop_words(language: str) -> frozenset[str]:
    return _STOP[language]


@lru_cache(maxsize=1 << 14)
def fold(word: str, language: str) -> str:
    """Returns the word in lower case, without accents where people leave them out."""
    if language in UNSPACED:
        return unicodedata.normalize("NFKC", word).lower()
    low = word.lower().replace("ß", "ss")
    if low.isascii():
        return low
    return "".join(char for char in unicodedata.normalize("NFKD", low) if not unicodedata.combining(char))


@lru_cache(maxsize=1 << 14)
def light_stem(word: str, language: str) -> str:
    """Returns a folded word without its ending; `word` must be folded."""
    if language in UNSPACED:
        return word
    if language not in _FOLDED_ENDINGS:
        endings = {fold(ending, language) for ending in _ENDINGS[language].split()}
        _FOLDED_ENDINGS[language] = tuple(sorted(endings, key=lambda ending: (-len(ending), ending)))
    shortest = _SHORTEST[language]
    for ending in _FOLDED_ENDINGS[language]:
        if len(word) - len(ending) >= shortest and word.endswith(ending):
            return word[: -len(ending)]
    return word
