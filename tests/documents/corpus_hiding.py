"""HTML whose styles hide text in ways that are seldom used otherwise, and look-alikes that are seen."""

from __future__ import annotations

from collections.abc import Sequence

from tests.documents.corpus import Case

_HIDING = """opacity:0.01
opacity:calc(0)
opacity:.001
font-size:1%
font-size:0.01em
font-size:.1vw
font-size:calc(0px)
font-size:0.2mm
font-size:1.1px
font:0.1em a
transform:scale(.001)
transform:scale3d(0,0,0)
transform:translate(-9999px)
transform:translateX(-9999px)
transform:matrix(0,0,0,0,0,0)
transform:rotateY(90deg)
scale:0
translate:-9999px
zoom:0.01
filter:opacity(0%)
mask:linear-gradient(transparent,transparent)
-webkit-mask-image:linear-gradient(#0000,#0000)
clip-path:circle(0)
clip-path:polygon(0 0)
clip-path:inset(50%)
clip-path:inset(0 0 100% 0)
margin-left:-9999px
margin-top:-9999px
position:absolute;left:calc(-9999px)
position:absolute;left:9999px
position:absolute;inset:-9999px
position:absolute;inset-inline-start:-9999px
position:sticky;left:-9999px
width:1px;height:1px;overflow:hidden
height:.5px;overflow:hidden
block-size:0;overflow:hidden
height:0;overflow-y:auto
height:0;contain:paint
-webkit-text-fill-color:transparent
-webkit-text-fill-color:white
color:#f9f9f9
color:rgb(255 255 255 / 1)
color:rgba(0 0 0 / 0%)
color:hsl(0 0% 100%)
color:oklch(1 0 0)
color:lab(100 0 0)
color:color(srgb 1 1 1)
color:color-mix(in srgb, white, white)
color:light-dark(white,white)
color:canvas
color:hwb(0 100% 0%)
--w:white;color:var(--w)
--a:var(--b);--b:none;display:var(--a)
display:var(--missing, none)
background-color:rgb(0 0 0);color:rgb(0 0 0)
background:var(--k, #123);color:#123
background:linear-gradient(white,white);color:white
background:rgb(0 0 0 / .5);color:#7f7f7f""".split("\n")
_RULES = """@supports (display:block){p.x{display:none}}
@media (min-width:0px){p.x{display:none}}
@media screen and (min-width:1px){p.x{display:none}}
@media (600px <= width){p.x{display:none}}
@media not print{p.x{display:none}}
@media only screen and (color){p.x{display:none}}
@container (min-width:0){p.x{display:none}}
@import url("data:text/css,p.x{display:none}");
@scope (body){p.x{display:none}}
body{p.x{display:none}}
body{& .x{display:none}}
body{@media screen{.x{display:none}}}
p.x{@media screen{display:none}}
p.x:not(:hover){display:none}
:not(:hover).x{display:none}
p.x:not(:focus, :active){display:none}
p.x:defined{display:none}
p.x:lang(en){display:none}
:root{--n:none} p.x{display:var(--n)}
:root{--w:#fff} p.x{color:var(--w)}
@layer b,c; @layer b{p.x{display:none!important}} @layer c{p.x{display:block!important}}
@layer a{p.x{display:block}} .x{display:none}
:where(.x.x.x.x){display:block} p.x{display:none}""".split("\n")
_ELEMENTS = """<div popover>SECRET</div>
<input value='SECRET' style='color:white'>
<input value='SECRET' style='font-size:0'>
<input type=submit value='SECRET' style='color:transparent'>
<p style='opacity:.3'><b style='opacity:.3'>SECRET</b></p>
<p style='font-size:5px'><b style='font-size:30%'>SECRET</b></p>
<img alt='SECRET' width=1 height=1>
<img alt='SECRET' style='opacity:0'>
<svg width=0 height=0><text>SECRET</text></svg>
<svg><text fill='white'>SECRET</text></svg>
<svg><text fill='none'>SECRET</text></svg>
<svg><g fill-opacity=1 fill='#fff'><text>SECRET</text></g></svg>
<svg><text display='none'>SECRET</text></svg>
<svg><text visibility='hidden'>SECRET</text></svg>
<svg><text opacity='0'>SECRET</text></svg>
<svg><text font-size='0'>SECRET</text></svg>
<svg><text x='-9999'>SECRET</text></svg>
<svg><symbol><text>SECRET</text></symbol></svg>
<svg><clipPath><text>SECRET</text></clipPath></svg>
<svg><mask><text>SECRET</text></mask></svg>
<svg><defs><text>SECRET</text></defs></svg>
<math><mphantom><mtext>SECRET</mtext></mphantom></math>
<select><option hidden>SECRET</select>
<font color=ffffff>SECRET</font>
<p aria-hidden='TRUE'>SECRET</p>
<link rel=stylesheet href='data:text/css,.z{display:none}'><p class=z>SECRET</p>
<link rel=stylesheet href='data:text/css;base64,Lnp7ZGlzcGxheTpub25lfQ=='><p class=z>SECRET</p>
<style media='(min-width:1px)'>.z{display:none}</style><p class=z>SECRET</p>
<style>.z{--c:white}</style><div class=z><p style='color:var(--c)'>SECRET</p></div>""".split("\n")
_UNSURE = (
    "<p style='color:var(--missing)'>Seen</p>",
    "<p style='display:var(--missing)'>Seen</p>",
    "<p style='letter-spacing:-1em'>Seen</p>",
    "<p style='mix-blend-mode:screen'>Seen</p>",
    "<p style='color:color-mix(in srgb, white, black)'>Seen</p>",
    "<p style='color:#eee'>Seen</p>",
    "<div style='background:url(a.png)'><p style='color:white'>Seen</p></div>",
    "<link rel=stylesheet href=a.css><p style='color:white'>Seen</p>",
    "<style>@media (min-aspect-ratio:1/2){p{display:none}}</style><p>Seen</p>",
    "<style>@supports not (display:grid){p{display:none}}</style><p>Seen</p>",
    "<style>p:unheard-of{display:none}</style><p>Seen</p>",
    "<style>@keyframes a{to{opacity:0}} p{animation:a 1s forwards}</style><p>Seen</p>",
    "<style>@keyframes a{to{opacity:1}} p{opacity:0;animation:a 1s forwards}</style><p>Seen</p>",
)
_SEEN = (
    "<style>@media (max-width:600px){p{display:none}}</style><p>Seen</p>",
    "<style>@media not screen{p{display:none}}</style><p>Seen</p>",
    "<style>@media (prefers-color-scheme:dark){p{color:white}}</style><p>Seen</p>",
    "<style>p:not(.x):hover{display:none}</style><p>Seen</p>",
    "<style>input:checked ~ p{display:none}</style><input type=checkbox><p>Seen</p>",
    "<style>p::before{display:none}</style><p>Seen</p>",
    "<style type='text/x'>p{display:none}</style><p>Seen</p>",
    "<style>p{display:none}@media screen{p{display:block}}</style><p>Seen</p>",
    "<p style='font-size:2px'>Seen</p>",
    "<p style='position:absolute;left:50%;margin-left:-960px'>Seen</p>",
    "<p style='transform:translate(-50%,-50%)'>Seen</p>",
    "<p style='clip-path:inset(10% 20%)'>Seen</p>",
    "<p style='clip-path:polygon(0 0, 100% 0, 50% 100%)'>Seen</p>",
    "<p style='height:0;min-height:50px;overflow:hidden'>Seen</p>",
    "<p style='height:0'>Seen</p>",
    "<p style='width:0%;overflow:visible'>Seen</p>",
    "<p style='color:oklch(.4 .1 120)'>Seen</p>",
    "<div style='background:#036'><p style='color:rgb(255 255 255)'>Seen</p></div>",
    "<div style='background:linear-gradient(#036,#036)'><p style='color:white'>Seen</p></div>",
    "<body bgcolor=black text=white><p>Seen</p>",
    "<td style='font-size:0'><p style='font-size:14px'>Seen</p>",
    "<p hidden style='display:block'>Seen</p>",
    "<svg><text fill=none stroke=black>Seen</text></svg>",
    "<svg><text x=20 y=40>Seen</text></svg>",
    "<input type=unknown value=Seen>",
    "<textarea placeholder=Seen></textarea>",
    "<pre>One <img alt=Seen></pre>",
)


_MAYBE = ("some text may be hidden",)


def _hidden(pages: Sequence[str]) -> list[Case]:
    return [
        Case(f"hiding: {page}", "html", f"<p>Seen</p>{page}".encode(), ("Seen",), ("SECRET",), (), ("hidden",), True)
        for page in pages
    ]


_MORE_STYLES = "it has more styles than Keeps reads"
_SLOW: tuple[tuple[str, str, str, tuple[str, ...]], ...] = (
    (
        "selectors of siblings",
        "html",
        "<style>" + "".join(f"div p:nth-child({at}n+1) ~ p{{color:red}}" for at in range(2_000)) + "</style>"
        "<div>" + "<p>Seen" * 1_000,
        (_MORE_STYLES,),
    ),
    (
        "selectors of what is below",
        "html",
        "<style>"
        + "".join(f":has(~ p):has(~ b{at}){{color:red}}" for at in range(200))
        + "</style>"
        + "<p>Seen" * 3_000,
        (_MORE_STYLES,),
    ),
    (
        "many matches",
        "html",
        "<style>" + "".join(f"p{{color:#{at:03x}}}" for at in range(2_000)) + "</style>" + "<p>Seen" * 5_000,
        (_MORE_STYLES,),
    ),
    ("lists in lists of selectors", "html", "<style>" + "a,b,c,d{" * 9 + "color:red" + "}" * 9 + "</style>Seen", ()),
    (
        "variables in variables",
        "html",
        "<style>:root{" + "".join(f"--a{at}:var(--a{at + 1}) var(--a{at + 1});" for at in range(50)) + "}"
        "p{color:var(--a0)}</style><p>Seen",
        _MAYBE,
    ),
    ("brackets", "markdown", "Seen " + "[" * 100_000, ("too many brackets",)),
    ("brackets of notes", "markdown", "Seen " + "[^" * 50_000, ("too many brackets",)),
    ("brackets of pictures", "markdown", "Seen " + "![a](" * 20_000 + "[" * 20_000, ("too many brackets",)),
    ("front matter of a long list", "markdown", f"---\na: [{'a,' * 1_000_000}]\n---\nSeen", ()),
    ("front matter with tags", "markdown", "---\na: !!timestamp x\nb: !!bool y\nc: !!int z\n---\nSeen", ()),
)


CASES: tuple[Case, ...] = (
    *_hidden([f"<p style='{style}'>SECRET</p>" for style in _HIDING]),
    *_hidden([f"<style>{rule}</style><p class=x lang=en>SECRET</p>" for rule in _RULES]),
    *_hidden(_ELEMENTS),
    *_hidden(["<body bgcolor=black text=black><p style='color:white'>Seen</p>SECRET"]),
    *(Case(f"unsure: {page}", "html", page.encode(), ("Seen",), notes=_MAYBE) for page in _UNSURE),
    *(Case(f"slow: {name}", form, text.encode(), ("Seen",), notes=notes) for name, form, text, notes in _SLOW),
    *(Case(f"seen: {page}", "html", page.encode(), ("Seen",), unnoted=_MAYBE) for page in _SEEN),
)
