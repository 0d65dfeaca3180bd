"""Popular packages, whose misspelled names are often used by attackers."""

from __future__ import annotations

from metier.scan.patterns import words

__all__ = ["POPULAR", "similar_package"]

POPULAR: dict[str, frozenset[str]] = {
    "PyPI": words("""
        requests urllib3 numpy pandas scipy matplotlib pillow flask django fastapi pydantic sqlalchemy boto3 botocore
        cryptography pyyaml setuptools beautifulsoup4 selenium playwright scrapy pytest tensorflow pytorch torch
        transformers openai anthropic langchain httpx aiohttp click jinja2 colorama python-dateutil paramiko psycopg2
        pymongo redis celery uvicorn gunicorn werkzeug markdown lxml openpyxl pypdf reportlab tqdm rich typer websockets
        scikit-learn seaborn plotly streamlit gradio huggingface-hub tiktoken google-api-python-client google-auth
        python-dotenv python-docx python-pptx pycryptodome discord.py telethon web3 solana ccxt fastai markdown2 scapy
        yfinance virtualenv poetry twine wheel opencv-python networkx nltk spacy black mypy ruff
    """),
    "npm": words("""
        react react-dom next vue angular svelte express lodash axios chalk commander webpack vite typescript eslint prettier
        jest mocha electron puppeteer playwright cheerio moment dayjs uuid dotenv mongoose sequelize prisma nodemon
        socket.io cross-env rimraf node-fetch body-parser jsonwebtoken bcrypt passport redux tailwindcss postcss
        autoprefixer babel rollup esbuild webpack-cli preact vuex nuxt axiom discord.js ethers web3 viem wagmi inquirer
        yargs minimist debug semver glob async underscore jquery bootstrap colors
    """),
}


def similar_package(name: str, registry: str) -> str | None:
    """Returns the popular package that `name` could be mistaken for; None if it is popular itself or similar to none."""
    plain = name.lower().replace("_", "-")
    known = POPULAR[registry]
    if plain in known or len(plain) < 5:
        return None
    for other in known:
        if abs(len(other) - len(plain)) <= 1 and len(other) >= 5 and _is_one_slip(plain, other):
            return other
    return None


def _is_one_slip(first: str, second: str) -> bool:
    """Returns True if the names differ by one letter, or by two adjacent letters swapped."""
    if len(first) > len(second):
        first, second = second, first
    start = 0
    while start < len(first) and first[start] == second[start]:
        start += 1
    if len(first) == len(second):
        same_rest = first[start + 1 :] == second[start + 1 :]
        swapped = first[start : start + 2] == second[start : start + 2][::-1] and first[start + 2 :] == second[start + 2 :]
        return start < len(first) and (same_rest or swapped)
    return first[start:] == second[start + 1 :]
