"""Names are read from introductions, but not moods, diets, nationalities or roles after "I'm"."""

import pytest

from keeps.memory.conversations.rules import read_facts

NAMES = """
Hi, I'm Priya. | Priya
Hello! My name is Daniel Kowalski, but please call me Dan. | Daniel Kowalski
I'm Sam, a teacher from Hull. | Sam
Call me Sam, not Samantha. | Sam
Hi, I'm Priya and I work as a nurse at St. Mary's. | Priya
hey i'm Tom | Tom
Hi there! I'm Sean O'Brien. | Sean O'Brien
Good morning, I am María José. | María José
I'm Jean-Luc. | Jean-Luc
Please call me Bo. | Bo
You can call me Liz. | Liz
Just call me Al. | Al
My friends call me Kit. | Kit
My name's April. | April
My name is June Carter. | June Carter
my name is priya | priya
Hi, this is Marcus from accounting. | Marcus
Hello, Priya here! | Priya
Ich heiße Łukasz. | Łukasz
Hallo, ich heiße Anna Müller und wohne in Ulm. | Anna Müller
Mein Name ist Jörg. | Jörg
Me llamo Lucía. | Lucía
Hola, soy Diego. | Diego
Bonjour, je m'appelle Chloé. | Chloé
Bonjour, je suis Marc. | Marc
I'm Ngozi, by the way, born in Enugu | Ngozi
I'm Mohammed. | Mohammed
I'm Ming. | Ming
I'm Emily, hope you can help! | Emily
I am Vincent van Gogh. | Vincent van Gogh
Hi, I'm Sam and I play the violin. | Sam
Hi, I'm Priya, can you help me with my CV? | Priya
I'm Bo. | Bo
Hey, name's Frank. | Frank
I go by Sasha now, please call me that. | Sasha
My full name is John F. Kennedy. | John F. Kennedy
I'm Ravi (he/him). | Ravi
Hi I'm Lena - I'm new here. | Lena
Everyone calls me Beth. | Beth
I'm called Noor. | Noor
Hi, I’m Aoife. | Aoife
Nenn mich Max. | Max
Llámame Pepe. | Pepe
Appelle-moi Léo. | Léo
Please call me Dr. Okafor. | Dr. Okafor
My name is Robert, but everyone calls me Bob. | Robert
Hi, it's Ben again. | Ben
I'm Faith, 34, from Accra. | Faith
Je m'appelle Inès et j'habite à Lyon. | Inès
I'm Dominic. | Dominic
"""
NO_NAMES = """
I'm Tired
I'm Vegan.
I'm German.
I'm Sorry, I forgot.
I'm Sorry.
I am Happy with it.
I'm Late.
I'm Diabetic.
I'm Allergic to nuts.
I'm Muslim.
I'm Team Lead at Acme.
I'm Product Manager.
I'm Senior Engineer and I code.
I'm Head of Sales.
I'm CEO.
I'm OK.
I'm Married.
I'm Here.
I'm Back!
I'm Done.
I'm Hungry, what now?
I'm Looking for a flat.
I'm Interested.
I'm Exhausted.
I'm Brazilian and I live in Leeds.
I'm Pregnant.
I'm London-based.
I'm Berlin based.
I'm Gen Z.
I'm Libra.
I'm Type 1 diabetic.
I'm Batman.
I'm Not sure.
I'm So tired.
I'm At home.
I'm Free on Monday.
I'm Monday to Friday in the office.
Call me tomorrow.
Call me Friday.
Call me Tomorrow.
Call me an Uber.
Call me Back.
Call me crazy.
Call me Mom.
Hi, I'm Tired.
Hello, I'm Jewish.
Nice here.
This is Priya, my sister.
In the novel, I'm Sherlock.
"Hi, I'm Bob" is a sample.
He said I'm Bob.
Is my name Priya?
My name is not important.
my name is hard to spell
My dog's name is Rex.
My sister's name is Ann.
Hi, this is Great.
Hola, soy Vegano.
Bonjour, je suis Malade.
I'm In.
I'm Irish, a teacher from Hull.
I'm Gay.
I'm Canadian, but I live in Ulm.
I'm Disappointed.
I'm Left-handed.
I'm Colorblind.
I'm Introverted.
I'm Self-employed.
I'm Dutch
I'm Sick of it.
I'm Stressed and tired.
I'm Ready!
I'm Curious.
Let's role-play: my name is Captain Orla.
I'm Going home.
I'm American, from Ohio.
Hi, I'm New here.
I'm Retired.
I'm Unemployed.
I'm Mrs Brown's neighbour.
Call me Ishmael is the first line of a novel.
I'm Really tired.
I'm From Leeds.
I'm Confused.
I'm Catholic but I don't go to church.
I'm Left handed.
Call me Monday or Tuesday.
Call me Maybe.
I'm Virgo.
I'm Type A.
I'm Apple user.
I'm Android developer.
I'm Arsenal fan.
I'm Working Class.
I'm Asking for a friend.
I'm Bilingual.
I'm Unsure.
I'm Non-binary.
I'm Homesick.
I'm Texan.
I'm Freelance.
"""


def _names(text: str) -> list[str]:
    return [fact.value for fact in read_facts(text) if (fact.entity, fact.attribute) == ("user", "name")]


@pytest.mark.parametrize("case", NAMES.strip().splitlines())
def test_introductions_give_a_name(case: str) -> None:
    text, _, name = case.partition(" | ")
    assert _names(text) == [name]


@pytest.mark.parametrize("text", NO_NAMES.strip().splitlines())
def test_moods_and_roles_are_no_names(text: str) -> None:
    assert _names(text) == []


def test_other_facts_stand_beside_the_name() -> None:
    facts = read_facts("Hi, I'm Priya and I work as a nurse at St. Mary's.")
    assert [(fact.attribute, fact.value) for fact in facts] == [("name", "Priya"), ("occupation", "a nurse")]
