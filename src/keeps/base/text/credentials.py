"""Remove keys, tokens, passwords and connection strings from the text of coding sessions. Pure.

`secrets` judges the sentences of people. This module reads code, configuration and output: it replaces the credential
and leaves the text around it. Every repetition is bounded, so the time grows linearly with the text.
"""

from __future__ import annotations

import re

REMOVED = "[secret removed]"

_TOKENS = (
    # AI services
    r"sk-[\w-]{16,220}|hf_[A-Za-z]{30,50}|gsk_\w{30,80}|r8_\w{30,50}|pplx-\w{30,80}|xai-\w{30,120}",
    # Clouds
    r"A(?:KIA|SIA|BIA|CCA)[A-Z2-7]{16}|AIza[\w-]{30,40}|ya29\.[\w-]{20,300}|GOCSPX-[\w-]{20,40}"
    r"|do[por]_v1_[0-9a-f]{40,80}"
    r"|dapi[0-9a-f]{32}(?:-\d)?|FlyV1 [\w+/=,]{40,600}|tskey-[\w-]{20,80}|CFPAT-[\w-]{30,60}",
    # Forges and package registries
    r"gh[pousr]_[0-9A-Za-z]{20,255}|github_pat_\w{20,255}|gl(?:pat|ptt|rt|soat|cbt|dt|ft|agent)-[\w.-]{15,100}"
    r"|npm_[0-9A-Za-z]{30,50}|pypi-AgE[\w-]{40,300}|rubygems_[0-9a-f]{40,60}|dckr_[op]at_[\w-]{20,60}"
    r"|ATATT3[\w=-]{50,250}"
    r"|lin_(?:api|oauth)_\w{30,70}|PMAK-[0-9a-f]{24}-[0-9a-f]{34}",
    # Messages and mail
    r"xox[abeoprs]-[\w-]{8,200}|xapp-\d-[\w-]{10,200}|SG\.[\w-]{16,32}\.[\w-]{16,64}|key-[0-9a-f]{32}"
    r"|[0-9a-f]{32}-us\d{1,2}"
    r"|(?:SK|AC)[0-9a-f]{32}|\d{8,10}:AA[\w-]{30,40}|[MNO][\w-]{23,27}\.[\w-]{6,7}\.[\w-]{27,45}|re_\w{8,12}_\w{15,40}",
    # Payments and shops
    r"[rs]k_(?:live|test)_[0-9A-Za-z]{10,120}|whsec_[\w+/=]{20,100}|shp(?:at|ca|pa|ss)_[0-9a-fA-F]{30,40}"
    r"|sq0(?:atp|csp|idp)-[\w-]{20,60}|EAAA[\w-]{50,80}",
    # Operation and data
    r"hv[sbr]\.[\w-]{20,300}|\w{14}\.atlasv1\.[\w-]{50,80}|dp\.(?:pt|st|ct|sa)\.[\w.-]{30,80}|gl(?:sa"
    r"|c)_[\w+/=]{30,300}"
    r"|NRAK-[A-Z0-9]{20,40}|sntry[su]_[\w+/=-]{30,300}|ph[cx]_\w{30,60}|sbp_[0-9a-f]{30,50}|sb_secret_[\w-]{20,60}"
    r"|pscale_(?:tkn|pw|oauth)_[\w.-]{20,80}|secret_\w{40,50}|ntn_\w{40,60}|figd_[\w-]{30,60}"
    r"|AGE-SECRET-KEY-1[0-9A-Z]{50,60}|eyJ[\w-]{8,1000}\.[\w-]{8,4000}(?:\.[\w-]{0,1000})?",
)
"""Tokens that their issuers mark by a prefix or a form of their own."""
_WHOLE = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:[^-]|-(?!----END)){0,16000}(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)?"
    rf"|(?<![\w-])(?:{'|'.join(_TOKENS)})(?![\w-])"
)
_PARTS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        # The password of an address, such as that of a database.
        r"(?<=://)[^\s:/@\"'`<>]{0,80}:([^\s/\"'`<>]{1,120})(?=@)",
        # A webhook's address is its secret.
        r"https://(?:hooks\.slack\.com/(?:services|workflows)|discord(?:app)?\.com/api/webhooks)/([\w/-]{10,300})",
        r"[?&](?:sig|signature|x-amz-signature|x-amz-security-token|token|access_token|api_?key|key|password)="
        r"([^\s&\"'`<>]{8,2000})",
        r"authorization[\"']?\s{0,3}[:=]\s{0,3}[\"']?(?:bearer|basic|token|digest|apikey"
        r"|bot)\s{1,3}([\w.~+/=:-]{6,4000})",
        r"\bbearer\s{1,3}([\w.~+/=-]{20,4000})",
        r"(?<=\s)(?:-u\s{0,2}|--user[ =])[\w.-]{1,60}:([^\s\"'`]{4,200})",
    )
)
_ASSIGNED = re.compile(
    r"(?P<name>passw(?:or)?d|passphrase|pwd|api[_-]?key|access[_-]?key|account[_-]?key|private[_-]?key|signing[_-]?key"
    r"|encryption[_-]?key|master[_-]?key|auth[_-]?key|secret|credentials?|token)(?:[_-]?\w{1,12}){0,2}[\"']?"
    r"\s{0,3}(?:=>|:=|[:=])\s{0,3}"
    r"(?:\"(?P<double>[^\"\n]{6,2000})\"|'(?P<single>[^'\n]{6,2000})'|(?P<bare>[^\s\"'`,;<>(){}\[\]]{6,2000}))",
    re.IGNORECASE,
)
_OPTION = re.compile(
    r"(?<![\w-])--?(?:password|passwd|token|api-key|secret)\s([^\s\"'`-][^\s\"'`]{5,300})", re.IGNORECASE
)
_PASSWORD = re.compile(r"pass|pwd", re.IGNORECASE)
_PLACEHOLDER = re.compile(
    r"(?:true|false|null|none|undefined|string|bytes|optional|required|missing|invalid|expired|unknown|incorrect"
    r"|changeme"
    r"|example|redacted|hidden|masked|placeholder|password|secret|token)\b|(?:self|this|process|os|env|config|settings"
    r"|options|params|props|args|request|req|res|ctx|data)\.|your[-_ ]|[<{(\[$*%]|x{3,}",
    re.IGNORECASE,
)


def without_credentials(text: str) -> str:
    """Return the text with each credential replaced by REMOVED."""
    text = _WHOLE.sub(REMOVED, text)
    for pattern in _PARTS:
        text = pattern.sub(_replaced, text)
    return _OPTION.sub(_replaced, _ASSIGNED.sub(_value_replaced, text))


def holds_credentials(text: str) -> bool:
    """Return whether a text contains a credential."""
    return without_credentials(text) != text


def _replaced(match: re.Match[str]) -> str:
    """Replace the first group of a match, unless it only stands for a value."""
    value = match[1]
    if _PLACEHOLDER.match(value):
        return match[0]
    begin, end = match.start(1) - match.start(), match.end(1) - match.start()
    return match[0][:begin] + REMOVED + match[0][end:]


def _value_replaced(match: re.Match[str]) -> str:
    """Replace the value of an assignment. A word without a digit is a value for passwords only."""
    group = next(name for name in ("double", "single", "bare") if match[name] is not None)
    value = match[group]
    is_random = re.search(r"\d", value) is not None and re.search(r"[a-zA-Z]", value) is not None
    if _PLACEHOLDER.match(value) or not (is_random or _PASSWORD.match(match["name"])):
        return match[0]
    begin, end = match.start(group) - match.start(), match.end(group) - match.start()
    return match[0][:begin] + REMOVED + match[0][end:]
