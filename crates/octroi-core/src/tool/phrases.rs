//! Reading verbs that write together with the words after them, and the other way round: "get rid of", "check out", "list an item".

/// What verbs mean before one of some words.
struct Phrase {
    verbs: &'static str,
    before: &'static str,
    /// Whether articles may stand between them.
    may_have_article: bool,
    means: &'static str,
}

const fn adjacent(verbs: &'static str, before: &'static str, means: &'static str) -> Phrase {
    Phrase { verbs, before, may_have_article: false, means }
}

const fn with_object(verbs: &'static str, before: &'static str, means: &'static str) -> Phrase {
    Phrase { verbs, before, may_have_article: true, means }
}

const PHRASES: [Phrase; 21] = [
    with_object("make", "get", "get"),
    adjacent("how", "far long many much often old", "count"),
    adjacent("reverse", "geocode geocodes geocoding", "lookup"),
    with_object("test", "connection connections connectivity", "validate"),
    adjacent("get", "rid", "remove"),
    adjacent("get", "ready", "prepare"),
    with_object("get", "lock lease", "acquire"),
    with_object("check", "box checkbox item", "mark"),
    with_object("fetch", "origin remote remotes upstream", "update"),
    adjacent("check", "out", "checkout"),
    adjacent("check", "in off", "mark"),
    adjacent("time", "out", "ban"),
    adjacent("count read show look list", "away down off over", "change"),
    // Lists are of many things: "List an item" puts it on a market.
    adjacent("list", "a an", "publish"),
    with_object("list", "item nft", "publish"),
    with_object(
        "ping",
        "channel customer everyone group guest member people person someone team user users",
        "notify",
    ),
    with_object("return", "order orders item product products purchase goods package book", "change"),
    with_object("return", "fund funds money payment cash refund parcel shipment car vehicle", "change"),
    with_object("convert", "cart draft lead leads prospect prospects quote trial trials visitor", "change"),
    with_object("show display", "dialog message notification popup toast alert", "notify"),
    with_object("extract", "archive archives zip tar tarball", "write"),
];

/// What getting credentials and tickets means: they are made or bought for whoever gets them. No such verb is known, so
/// nobody can tell.
pub(super) const OBTAINS: &str = "obtain";
const GETS: &str = "fetch get obtain retrieve return";
/// Words before `token` that say that it lets somebody in.
const LETS_IN: &str = "access auth authentication authorization bearer id jwt login oauth refresh session";
/// Words that end what is got.
const ENDS_OBJECT: &str = "and as at by for from in of on or that to using which with";

/// Whether what is got is made for it: "Get a connection string", "Get a ticket for a concert", but "Get a ticket by its
/// number".
fn is_made_to_be_got<S: AsRef<str>>(after: &[S]) -> bool {
    let words: Vec<&str> = after.iter().map(AsRef::as_ref).filter(|word| !takes_object(word)).collect();
    let end = words.iter().position(|word| contains(ENDS_OBJECT, word)).unwrap_or(words.len());
    match &words[..end] {
        [.., "credentials" | "kubeconfig"] | [.., "connection", "string" | "uri" | "url"] => true,
        ["token" | "ticket"] => words.get(end) == Some(&"for"),
        [.., before, "token"] => contains(LETS_IN, before),
        _ => false,
    }
}

/// The verb that means the same as this one with the words after it, if they change its meaning.
pub(super) fn phrase<S: AsRef<str>>(verb: &str, after: &[S]) -> Option<&'static str> {
    // "List a form's responses" lists many.
    if after.iter().any(|word| word.as_ref().ends_with("'s")) {
        return None;
    }
    // "Get a new number" buys or makes one.
    if let [first, second, ..] = after
        && (base_of(verb), first.as_ref(), second.as_ref()) == ("get", "a", "new")
    {
        return Some("create");
    }
    let base = base_of(verb);
    if (contains(GETS, verb) || contains(GETS, base)) && is_made_to_be_got(after) {
        return Some(OBTAINS);
    }
    let is_verb = |phrase: &&Phrase| contains(phrase.verbs, verb) || contains(phrase.verbs, base);
    let found = PHRASES.iter().filter(is_verb).find(|phrase| {
        let mut words = after.iter().map(AsRef::as_ref);
        let word =
            if phrase.may_have_article { words.find(|word| !takes_object(word)) } else { words.next() };
        word.is_some_and(|word| contains(phrase.before, word))
    });
    found.map(|phrase| phrase.means)
}

fn base_of(verb: &str) -> &str {
    verb.strip_suffix('s').unwrap_or(verb)
}

/// Whether a word stands for or before the object of a verb: "merge *them*", "settles *the* balance".
pub(super) fn takes_object(word: &str) -> bool {
    contains(OBJECTS, word)
}

const OBJECTS: &str = "a all an any both each every everything her him it its one some the their them these this those what your";

fn contains(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|known| known == word)
}
