"""Several of us at once lose nothing."""

from __future__ import annotations

from cli.shell import Shell


def together(shell: Shell, *commands: tuple[str, ...]) -> list[int]:
    processes = [shell.start(*words) for words in commands]
    codes = []
    for process in processes:
        _, err = process.communicate(timeout=60)
        assert b"Traceback" not in err, err
        codes.append(process.returncode)
    return codes


def test_eight_concurrent_disable_and_enable_commands_lose_nothing(shell: Shell) -> None:
    for number in range(8):
        shell.skill(f"s{number}")
    assert together(shell, *[("skill", "disable", f"s{number}") for number in range(8)]) == [0] * 8
    assert set(shell.listed().values()) == {"disabled"}
    commands = [("skill", "enable" if number % 2 else "disable", f"s{number}") for number in range(8)]
    assert together(shell, *commands) == [0] * 8
    assert shell.listed() == {f"s{number}": "enabled" if number % 2 else "disabled" for number in range(8)}


def test_of_eight_concurrent_creates_of_one_skill_one_succeeds(shell: Shell) -> None:
    commands = [("skill", "create", "same", "-d", f"Number {number}. Use when asked.") for number in range(8)]
    codes = together(shell, *commands)
    assert sorted(codes) == [0, *[6] * 7]
    winner = codes.index(0)
    assert f"Number {winner}." in (shell.skills / "same/SKILL.md").read_text()
    assert [path.name for path in shell.skills.iterdir()] == ["same"]


def test_eight_different_concurrent_commands_all_succeed(shell: Shell) -> None:
    shell.skill("old")
    folders = [shell.project / f"p{number}" for number in range(2)]
    for folder in folders:
        folder.mkdir()
    codes = together(
        shell,
        ("skill", "create", "one", "-d", "Does it. Use when asked."),
        ("skill", "create", "two", "-d", "Does it. Use when asked."),
        ("skill", "list"), ("skill", "list"), ("config", "set", "skills.deny", "x"), ("skill", "disable", "old"),
        ("trust", str(folders[0])), ("trust", str(folders[1])),
    )  # fmt: skip
    assert codes == [0] * 8
    assert shell.listed() == {"old": "disabled", "one": "enabled", "two": "enabled"}
    assert shell("trust", "--list", "--json").data["folders"] == list(map(str, folders))
    assert shell("config", "get", "skills.deny").out == "x\n"
