"""Paragraphs in many scripts, each with its number of tokens by o200k_base (bpe-openai 0.1.4)."""

from __future__ import annotations

PARAGRAPHS = {
    "English": (
        49,
        "The committee met on Tuesday to discuss the new library. Three members wanted a larger reading room, and one asked who would pay for it. They agreed to visit the site next month and to invite the architect, who had already drawn two plans.",
    ),
    "German": (
        52,
        "Der Ausschuss traf sich am Dienstag, um über die neue Bibliothek zu sprechen. Drei Mitglieder wünschten sich einen größeren Lesesaal, und eines fragte, wer ihn bezahlen solle. Sie vereinbarten, das Grundstück nächsten Monat zu besichtigen.",
    ),
    "French": (
        51,
        "Le comité s'est réuni mardi pour parler de la nouvelle bibliothèque. Trois membres voulaient une salle de lecture plus grande, et l'un d'eux a demandé qui la paierait. Ils ont décidé de visiter le terrain le mois prochain.",
    ),
    "Spanish": (
        43,
        "El comité se reunió el martes para hablar de la nueva biblioteca. Tres miembros querían una sala de lectura más grande y uno preguntó quién la pagaría. Acordaron visitar el terreno el mes que viene.",
    ),
    "Polish": (
        72,
        "Komitet spotkał się we wtorek, aby omówić nową bibliotekę. Trzech członków chciało większej czytelni, a jeden zapytał, kto za nią zapłaci. Uzgodnili, że w przyszłym miesiącu obejrzą działkę i zaproszą architekta.",
    ),
    "Czech": (
        70,
        "Výbor se sešel v úterý, aby projednal novou knihovnu. Tři členové chtěli větší čítárnu a jeden se zeptal, kdo ji zaplatí. Dohodli se, že příští měsíc navštíví pozemek a pozvou architekta.",
    ),
    "Hungarian": (
        70,
        "A bizottság kedden ült össze, hogy megbeszélje az új könyvtárat. Három tag nagyobb olvasótermet szeretett volna, egy pedig megkérdezte, ki fizeti majd. Megegyeztek, hogy jövő hónapban megnézik a telket.",
    ),
    "Finnish": (
        55,
        "Toimikunta kokoontui tiistaina keskustelemaan uudesta kirjastosta. Kolme jäsentä halusi suuremman lukusalin, ja yksi kysyi, kuka sen maksaisi. He sopivat käyvänsä tontilla ensi kuussa.",
    ),
    "Vietnamese": (
        54,
        "Ủy ban họp vào thứ ba để bàn về thư viện mới. Ba thành viên muốn có phòng đọc lớn hơn, và một người hỏi ai sẽ trả tiền. Họ đồng ý đến xem khu đất vào tháng sau và mời kiến trúc sư.",
    ),
    "Turkish": (
        62,
        "Kurul yeni kütüphaneyi görüşmek için salı günü toplandı. Üç üye daha büyük bir okuma salonu istedi, biri de parasını kimin ödeyeceğini sordu. Gelecek ay arsayı gezmeye ve mimarı çağırmaya karar verdiler.",
    ),
    "Swahili": (
        57,
        "Kamati ilikutana Jumanne kuzungumzia maktaba mpya. Wanachama watatu walitaka chumba kikubwa cha kusomea, na mmoja aliuliza nani atalipa. Walikubaliana kutembelea kiwanja mwezi ujao.",
    ),
    "Russian": (
        53,
        "Комитет собрался во вторник, чтобы обсудить новую библиотеку. Трое членов хотели читальный зал побольше, а один спросил, кто за него заплатит. Они договорились осмотреть участок в следующем месяце.",
    ),
    "Ukrainian": (
        70,
        "Комітет зібрався у вівторок, щоб обговорити нову бібліотеку. Троє членів хотіли більшу читальну залу, а один запитав, хто за неї заплатить. Вони домовилися оглянути ділянку наступного місяця.",
    ),
    "Kazakh": (
        59,
        "Комитет жаңа кітапхананы талқылау үшін сейсенбі күні жиналды. Үш мүше үлкенірек оқу залын қалады, ал біреуі ақшасын кім төлейтінін сұрады. Олар келесі айда жерді көруге келісті.",
    ),
    "Greek": (
        72,
        "Η επιτροπή συνεδρίασε την Τρίτη για να συζητήσει τη νέα βιβλιοθήκη. Τρία μέλη ήθελαν μεγαλύτερο αναγνωστήριο και ένα ρώτησε ποιος θα το πληρώσει. Συμφώνησαν να επισκεφθούν το οικόπεδο τον επόμενο μήνα.",
    ),
    "Arabic": (
        51,
        "اجتمعت اللجنة يوم الثلاثاء لمناقشة المكتبة الجديدة. أراد ثلاثة أعضاء قاعة قراءة أكبر، وسأل أحدهم من سيدفع ثمنها. واتفقوا على زيارة الموقع في الشهر المقبل ودعوة المهندس المعماري.",
    ),
    "Persian": (
        60,
        "کمیته روز سه‌شنبه برای گفت‌وگو دربارهٔ کتابخانهٔ جدید گرد هم آمد. سه نفر تالار مطالعهٔ بزرگ‌تری می‌خواستند و یکی پرسید چه کسی هزینهٔ آن را می‌پردازد. قرار شد ماه آینده از زمین دیدن کنند.",
    ),
    "Urdu": (
        60,
        "کمیٹی کا اجلاس منگل کو نئی لائبریری پر بات کرنے کے لیے ہوا۔ تین ارکان بڑا مطالعہ خانہ چاہتے تھے اور ایک نے پوچھا کہ اس کے پیسے کون دے گا۔ انھوں نے اگلے مہینے زمین دیکھنے کا فیصلہ کیا۔",
    ),
    "Hebrew": (
        58,
        "הוועדה התכנסה ביום שלישי כדי לדון בספרייה החדשה. שלושה חברים רצו אולם קריאה גדול יותר, ואחד שאל מי ישלם עליו. הם הסכימו לבקר בשטח בחודש הבא ולהזמין את האדריכל.",
    ),
    "Hindi": (
        46,
        "समिति मंगलवार को नए पुस्तकालय पर चर्चा करने के लिए मिली। तीन सदस्य बड़ा वाचनालय चाहते थे और एक ने पूछा कि इसका खर्च कौन देगा। उन्होंने अगले महीने ज़मीन देखने का फ़ैसला किया।",
    ),
    "Nepali": (
        57,
        "समितिले नयाँ पुस्तकालयबारे छलफल गर्न मंगलबार बैठक बस्यो। तीन सदस्यले ठूलो पढ्ने कोठा चाहे र एकजनाले खर्च कसले तिर्ने भनेर सोधे। उनीहरूले अर्को महिना जग्गा हेर्ने सहमति गरे।",
    ),
    "Bengali": (
        54,
        "নতুন গ্রন্থাগার নিয়ে আলোচনা করতে কমিটি মঙ্গলবার বসেছিল। তিনজন সদস্য আরও বড় পাঠকক্ষ চেয়েছিলেন, আর একজন জিজ্ঞাসা করলেন এর টাকা কে দেবে। তাঁরা আগামী মাসে জমিটি দেখতে রাজি হলেন।",
    ),
    "Tamil": (
        61,
        "புதிய நூலகத்தைப் பற்றிப் பேச குழு செவ்வாய்க்கிழமை கூடியது. மூன்று உறுப்பினர்கள் பெரிய வாசிப்பு அறையை விரும்பினர், ஒருவர் யார் பணம் தருவார் என்று கேட்டார். அடுத்த மாதம் நிலத்தைப் பார்க்க ஒப்புக்கொண்டனர்.",
    ),
    "Telugu": (
        65,
        "కొత్త గ్రంథాలయం గురించి చర్చించడానికి కమిటీ మంగళవారం సమావేశమైంది. ముగ్గురు సభ్యులు పెద్ద పఠన గది కావాలన్నారు, ఒకరు దానికి ఎవరు డబ్బు ఇస్తారని అడిగారు. వచ్చే నెల స్థలాన్ని చూడటానికి ఒప్పుకున్నారు.",
    ),
    "Gujarati": (
        54,
        "નવા પુસ્તકાલયની ચર્ચા કરવા સમિતિ મંગળવારે મળી. ત્રણ સભ્યોને મોટો વાંચનખંડ જોઈતો હતો અને એકે પૂછ્યું કે તેના પૈસા કોણ આપશે. તેઓ આવતા મહિને જમીન જોવા સંમત થયા.",
    ),
    "Kannada": (
        59,
        "ಹೊಸ ಗ್ರಂಥಾಲಯದ ಬಗ್ಗೆ ಚರ್ಚಿಸಲು ಸಮಿತಿ ಮಂಗಳವಾರ ಸೇರಿತು. ಮೂವರು ಸದಸ್ಯರು ದೊಡ್ಡ ಓದುವ ಕೊಠಡಿ ಬೇಕೆಂದರು, ಒಬ್ಬರು ಹಣ ಯಾರು ಕೊಡುತ್ತಾರೆ ಎಂದು ಕೇಳಿದರು. ಮುಂದಿನ ತಿಂಗಳು ಜಾಗವನ್ನು ನೋಡಲು ಒಪ್ಪಿದರು.",
    ),
    "Malayalam": (
        53,
        "പുതിയ ഗ്രന്ഥശാലയെക്കുറിച്ച് ചർച്ച ചെയ്യാൻ സമിതി ചൊവ്വാഴ്ച യോഗം ചേർന്നു. മൂന്ന് അംഗങ്ങൾക്ക് വലിയ വായനമുറി വേണമായിരുന്നു, ഒരാൾ ആരു പണം നൽകുമെന്ന് ചോദിച്ചു.",
    ),
    "Sinhala": (
        86,
        "නව පුස්තකාලය ගැන සාකච්ඡා කිරීමට කමිටුව අඟහරුවාදා රැස් විය. සාමාජිකයන් තිදෙනෙක් විශාල කියවීම් කාමරයක් අවශ්‍ය බව කීහ. එක් අයෙක් ඒ සඳහා ගෙවන්නේ කවුදැයි ඇසුවේය.",
    ),
    "Thai": (
        66,
        "คณะกรรมการประชุมกันในวันอังคารเพื่อหารือเรื่องห้องสมุดแห่งใหม่ สมาชิกสามคนอยากได้ห้องอ่านหนังสือที่ใหญ่ขึ้น และคนหนึ่งถามว่าใครจะเป็นคนจ่ายเงิน พวกเขาตกลงกันว่าจะไปดูที่ดินในเดือนหน้า",
    ),
    "Lao": (
        260,
        "ຄະນະກຳມະການໄດ້ປະຊຸມກັນໃນວັນອັງຄານເພື່ອປຶກສາຫາລືກ່ຽວກັບຫໍສະໝຸດແຫ່ງໃໝ່ ສະມາຊິກສາມຄົນຢາກໄດ້ຫ້ອງອ່ານທີ່ໃຫຍ່ກວ່າ ແລະຄົນໜຶ່ງຖາມວ່າໃຜຈະເປັນຄົນຈ່າຍເງິນ",
    ),
    "Khmer": (
        81,
        "គណៈកម្មាធិការបានប្រជុំនៅថ្ងៃអង្គារដើម្បីពិភាក្សាអំពីបណ្ណាល័យថ្មី។ សមាជិកបីនាក់ចង់បានបន្ទប់អានធំជាងមុន ហើយម្នាក់បានសួរថាអ្នកណានឹងចេញថ្លៃ។",
    ),
    "Burmese": (
        89,
        "ကော်မတီသည် စာကြည့်တိုက်အသစ်အကြောင်း ဆွေးနွေးရန် အင်္ဂါနေ့တွင် တွေ့ဆုံခဲ့သည်။ အဖွဲ့ဝင်သုံးဦးက ပိုကြီးသော စာဖတ်ခန်းကို လိုချင်ပြီး တစ်ဦးက ဘယ်သူ ပေးမလဲဟု မေးသည်။",
    ),
    "Georgian": (
        70,
        "კომიტეტი სამშაბათს შეიკრიბა ახალი ბიბლიოთეკის განსახილველად. სამ წევრს უფრო დიდი სამკითხველო დარბაზი სურდა, ერთმა კი იკითხა, ვინ გადაიხდიდა. ისინი შეთანხმდნენ, რომ მომავალ თვეს ნახავდნენ ნაკვეთს.",
    ),
    "Armenian": (
        56,
        "Հանձնաժողովը հավաքվեց երեքշաբթի օրը՝ նոր գրադարանը քննարկելու համար։ Երեք անդամ ավելի մեծ ընթերցասրահ էր ուզում, իսկ մեկը հարցրեց, թե ով պիտի վճարի։ Նրանք պայմանավորվեցին հաջորդ ամիս այցելել տեղանքը։",
    ),
    "Amharic": (
        217,
        "ኮሚቴው ስለ አዲሱ ቤተ መጻሕፍት ለመወያየት ማክሰኞ ተሰበሰበ። ሦስት አባላት ትልቅ የንባብ ክፍል ፈልገው ነበር፣ አንዱም ማን እንደሚከፍል ጠየቀ። በሚቀጥለው ወር ቦታውን ለመጎብኘት ተስማሙ።",
    ),
    "Tibetan": (
        186,
        "ཨུ་ཡོན་ལྷན་ཁང་གིས་གཟའ་མིག་དམར་ལ་དཔེ་མཛོད་ཁང་གསར་པའི་སྐོར་ལ་གྲོས་མོལ་བྱས། ཁོང་ཚོས་ཟླ་བ་རྗེས་མར་ས་ཆ་ལ་བལྟ་བར་འགྲོ་རྒྱུའི་ཁས་ལེན་བྱས།",
    ),
    "Chinese": (
        53,
        "委员会星期二开会讨论新图书馆。三名委员希望阅览室更大一些，另一名委员问由谁来付钱。他们同意下个月去看地皮，并邀请已经画好两份方案的建筑师。",
    ),
    "Traditional Chinese": (
        64,
        "委員會星期二開會討論新圖書館。三名委員希望閱覽室更大一些，另一名委員問由誰來付錢。他們同意下個月去看地皮，並邀請已經畫好兩份方案的建築師。",
    ),
    "Japanese": (
        74,
        "委員会は火曜日に集まり、新しい図書館について話し合った。三人の委員はもっと広い閲覧室を望み、一人は誰が費用を払うのかと尋ねた。来月は敷地を見に行き、建築家も招くことになった。",
    ),
    "Korean": (
        68,
        "위원회는 화요일에 모여 새 도서관에 대해 논의했다. 위원 세 명은 더 넓은 열람실을 원했고, 한 명은 누가 비용을 낼 것인지 물었다. 그들은 다음 달에 부지를 둘러보고 건축가를 초대하기로 했다.",
    ),
    "Emoji": (
        73,
        "Party tonight 🎉🎂 bring cake 🍰 and drinks 🍹🥤! See you 👋🏽 👩‍👩‍👧‍👦 at 8 🕗. Weather: ☀️→🌧️, so take an umbrella ☔. ❤️❤️❤️ 🇩🇪🇯🇵🇧🇷",
    ),
    "Code": (
        59,
        "def merge(left, right):\n    result = []\n    while left and right:\n        if left[0] <= right[0]:\n            result.append(left.pop(0))\n        else:\n            result.append(right.pop(0))\n    return result + left + right  # whatever is left\n",
    ),
    "JSON": (
        70,
        '{"user_id": 48213, "name": "Marta Kowalska", "tags": ["admin", "billing"], "lastLoginAt": "2026-11-27T08:15:42.103Z", "quota": {"maxBytes": 1073741824, "used": 0.37}}',
    ),
    "Markdown": (
        54,
        "## Opening hours\n\n- Monday: 9:00–17:00\n- Tuesday: closed\n\n| room | seats |\n| --- | --- |\n| north | 24 |\n| south | 110 |\n\n**Note:** doors close at 16:45.\n",
    ),
    "URLs": (
        67,
        "See https://docs.example.org/en/v2.4/guides/getting-started?lang=en&tab=install#step-3 and http://user:pw@files.internal.example.net:8080/archive/2026/11/report_final-v7.tar.gz or mailto:marta.kowalska@example.com.",
    ),
    "Base64": (
        95,
        "aGVsbG8gd29ybGQsIHRoaXMgaXMgYSB0ZXN0IG9mIGJhc2U2NCBkYXRh9f3+Qk7xP0zZb8Yd2mVtJ6sT1uK5LwQeRyC4nHaXpG8oFiUjMvBqNlSzWk3D7tEgA==",
    ),
    "Hex": (
        61,
        "3f9a1c0be47d25886ff013a9c2d47be05518ea936c7d40f2ab19e8835d6c2f70 550e8400-e29b-41d4-a716-446655440000",
    ),
    "Digits": (
        43,
        "314159265358979323846264338327950288419716939937510582097494459230781640628620899 86280348253421170679 1,234,567.89",
    ),
}
