"""Credentials of coding sessions: their shapes are removed, and ordinary code stays as it is."""

from __future__ import annotations

import random
import string

import pytest

from keeps.base.text.credentials import REMOVED, holds_credentials, without_credentials

LOWER, UPPER, DIGITS = string.ascii_lowercase, string.ascii_uppercase, string.digits
LETTERS, WORD, HEX = LOWER + UPPER, LOWER + UPPER + DIGITS, "0123456789abcdef"
BASE64 = WORD + "+/"
SHAPES = """
sk-proj-{W48}|sk-ant-api03-{W80}|sk-{W48}|hf_{L34}|gsk_{W52}|r8_{W37}|pplx-{W48}|xai-{W80}
AKIA{U16}|ASIA{U16}|aws_secret_access_key = {B40}|AIza{W35}|ya29.{W60}|GOCSPX-{W28}|dop_v1_{H64}|dapi{H32}
tskey-auth-{W30}|AccountKey={B86}==|ghp_{W36}|gho_{W36}|ghs_{W36}|github_pat_{W82}|glpat-{W20}|npm_{W36}|pypi-AgEIcHlwaS5vcmc{W60}
dckr_pat_{W27}|lin_api_{W40}|//registry.example/:_authToken={W36}|xoxb-{D12}-{D12}-{W24}|xapp-1-{W40}|SG.{W22}.{W43}
key-{H32}|{H32}-us12|SK{H32}|{D9}:AA{W33}|N{W23}.{W6}.{W38}|sk_live_{W24}|rk_live_{W24}|whsec_{W32}|shpat_{H32}
sq0atp-{W22}|hvs.{W90}|glsa_{W32}_{H8}|NRAK-{V27}|phx_{W43}|sbp_{H40}|pscale_tkn_{W43}|eyJ{W40}.eyJ{W80}.{W43}
postgresql://app:{W18}@db.example:5432/shop|mysql://root:{W14}@localhost/x|redis://:{W20}@cache:6379/0
mongodb+srv://u:{W16}@cluster.example/x|amqps://u:{W16}@queue.example/v|https://u:{W20}@git.example/r.git
https://hooks.slack.com/services/T{V8}/B{V8}/{W24}|https://discord.com/api/webhooks/{D18}/{W68}
https://blob.example/c?sv=2024&sig={W40}|Authorization: Bearer {W40}|Authorization: Basic {W32}=|curl -u admin:{W12} x
password = "{W14}"|DB_PASSWORD={W16}|'api_key': '{W32}'|client_secret: {W40}|"token": "{W40}"
SECRET_KEY='{W50}'|--password {W14}
-----BEGIN RSA PRIVATE KEY-----
""".strip()
ORDINARY = """
def token_count(text: str) -> int: return len(text.split())
password: str = Field(min_length=12)
api_key = os.environ["OPENAI_API_KEY"]
export TOKEN=$(cat token.txt)
The token is expired. The password must be changed every year.
commit 3f2b1c9d8e7f6a5b4c3d2e1f0a9b8c7d6e5f4a3b
src/keeps/base/text/secrets.py:42: error: "password" is not defined
https://github.com/example/keeps/pull/12?tab=files#diff
max_tokens=4096 tokens: 1200
secret_name: database-credentials
id: 6f9619ff-8b86-d011-b42d-00c04fc964ff
""".strip()


def shapes() -> list[tuple[str, str]]:
    """Return 200 credentials or more, made anew of random characters, each with its text."""
    choice = random.Random(44)
    alphabets = {
        "W": WORD,
        "L": LETTERS,
        "U": UPPER + "234567",
        "V": UPPER + DIGITS,
        "H": HEX,
        "D": DIGITS,
        "B": BASE64,
    }
    made: list[tuple[str, str]] = []
    for shape in SHAPES.replace("\n", "|").split("|"):
        for _ in range(3):
            secrets: list[str] = []
            text = ""
            for part in shape.split("{"):
                form, brace, rest = part.partition("}")
                if brace:
                    secrets.append("".join(choice.choices(alphabets[form[0]], k=int(form[1:]))))
                    text += secrets[-1] + rest
                else:
                    text += part
            if "PRIVATE KEY" in shape:
                secrets.append("".join(choice.choices(BASE64, k=64)))
                text = f"{shape}\n{secrets[-1]}\n-----END RSA PRIVATE KEY-----"
            made.append((max(secrets, key=len), text))
    return made


CREDENTIALS = shapes()


def test_there_are_200_shapes() -> None:
    assert len(CREDENTIALS) >= 200


@pytest.mark.parametrize("around", ["{}", "I ran it with {} and it failed.", 'env:\n  "X": {}\nend'])
def test_credentials_are_removed(around: str) -> None:
    left = [text for secret, text in CREDENTIALS if secret in without_credentials(around.format(text))]
    assert not left


def test_text_around_a_credential_stays() -> None:
    text = "before postgresql://app:pw12345678@db.example:5432/shop after"
    assert without_credentials(text) == f"before postgresql://app:{REMOVED}@db.example:5432/shop after"


@pytest.mark.parametrize("line", ORDINARY.splitlines())
def test_ordinary_code_stays(line: str) -> None:
    assert without_credentials(line) == line


def test_removal_is_stable() -> None:
    for _, text in CREDENTIALS:
        assert holds_credentials(text)
        assert not holds_credentials(without_credentials(text))
