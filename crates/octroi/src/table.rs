//! Tables for people: headings, aligned columns, and no row wider than the terminal.
//!
//! The headings are the keys of the JSON output. What does not fit is cut with `…`; `--json` has all of it.

use octroi_core::visible;
use owo_colors::{OwoColorize as _, Style};
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// The width where there is no terminal, as in a file or a pipe.
const USUAL_WIDTH: usize = 80;
/// A narrower terminal wraps lines; with less than this nothing could be read anyway.
const WIDTH_MIN: usize = 40;
/// A column is not cut below this width.
const COLUMN_MIN: usize = 6;
const GAP: &str = "  ";

/// A column: the JSON key that is its heading, and how it is aligned.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    key: &'static str,
    is_number: bool,
    /// Whether it is cut before others are.
    is_first_cut: bool,
}

impl Column {
    /// Texts, aligned left.
    pub(crate) const fn text(key: &'static str) -> Self {
        Self { key, is_number: false, is_first_cut: false }
    }

    /// Numbers, aligned right.
    pub(crate) const fn number(key: &'static str) -> Self {
        Self { key, is_number: true, is_first_cut: false }
    }

    /// Sentences, which are cut before words are.
    pub(crate) const fn sentence(key: &'static str) -> Self {
        Self { key, is_number: false, is_first_cut: true }
    }

    fn heading(self) -> String {
        self.key.replace('_', " ").to_uppercase()
    }
}

/// The text of one cell, and how it looks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cell {
    text: String,
    style: Style,
}

impl Cell {
    /// What moves a cursor is escaped: servers and agents choose many of these texts.
    pub(crate) fn new(text: impl AsRef<str>) -> Self {
        Self { text: visible(text.as_ref()), style: Style::new() }
    }

    pub(crate) fn styled(mut self, style: Style) -> Self {
        self.style = style;
        self
    }
}

impl<T: AsRef<str>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::new(text)
    }
}

/// A table to be printed.
#[derive(Debug)]
pub(crate) struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    pub(crate) fn new(columns: &[Column]) -> Self {
        Self { columns: columns.to_vec(), rows: Vec::new() }
    }

    /// Adds a row: a cell for each column.
    pub(crate) fn row<const N: usize>(&mut self, cells: [Cell; N]) {
        self.rows.push(cells.into());
    }

    /// The heading and the rows. Columns that are empty in every row are left out.
    pub(crate) fn lines(&self, width: usize) -> Vec<String> {
        let kept: Vec<usize> = (0..self.columns.len())
            .filter(|&at| self.rows.iter().any(|row| row.get(at).is_some_and(|cell| !cell.text.is_empty())))
            .collect();
        let widths = self.widths(&kept, width);
        let heading = |&at: &usize| Cell::new(self.columns[at].heading()).styled(Style::new().dimmed());
        let headings: Vec<Cell> = kept.iter().map(heading).collect();
        let rows = self.rows.iter().map(|row| kept.iter().map(|&at| row[at].clone()).collect());
        let line = |cells: Vec<Cell>| {
            let cells = cells.into_iter().zip(kept.iter().zip(&widths));
            let cells = cells.map(|(cell, (&at, &width))| padded(&cell, width, self.columns[at].is_number));
            cells.collect::<Vec<_>>().join(GAP).trim_end().to_owned()
        };
        std::iter::once(headings).chain(rows).map(line).collect()
    }

    /// How wide each column is, so that all of them fit: sentences are cut first, then the widest of the others.
    fn widths(&self, kept: &[usize], width: usize) -> Vec<usize> {
        let natural = |&at: &usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.text.width());
            cells.chain([self.columns[at].heading().width()]).max().unwrap_or_default()
        };
        let mut widths: Vec<usize> = kept.iter().map(natural).collect();
        let available = width.saturating_sub(GAP.len() * kept.len().saturating_sub(1));
        while widths.iter().sum::<usize>() > available {
            let can_be_cut = |&column: &usize| {
                let minimum = self.columns[kept[column]].heading().width().max(COLUMN_MIN);
                widths[column] > minimum
            };
            let order = |&column: &usize| (self.columns[kept[column]].is_first_cut, widths[column]);
            let Some(column) = (0..widths.len()).filter(can_be_cut).max_by_key(order) else {
                break;
            };
            widths[column] -= 1;
        }
        widths
    }
}

/// The cell at this width. Colours stay outside of the padding, so that it can be taken off the end of a line.
fn padded(cell: &Cell, width: usize, is_number: bool) -> String {
    let text = cut(&cell.text, width);
    let blanks = " ".repeat(width.saturating_sub(text.width()));
    // Nothing in colour would keep the blanks before it at the end of a line.
    let text = if text.is_empty() { text } else { text.style(cell.style).to_string() };
    if is_number { format!("{blanks}{text}") } else { format!("{text}{blanks}") }
}

/// The text, cut to this width with `…` at its end.
pub(crate) fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut used = 0;
    for character in text.chars() {
        used += character.width().unwrap_or_default();
        if used >= width {
            break;
        }
        kept.push(character);
    }
    format!("{}…", kept.trim_end())
}

/// How wide texts may be: as the terminal, or 80 columns where there is none.
pub(crate) fn line_width() -> usize {
    terminal_width().unwrap_or(USUAL_WIDTH)
}

/// How wide tables may be: as the terminal. In a file or a pipe nothing is cut, because programs read it.
pub(crate) fn table_width() -> usize {
    terminal_width().unwrap_or(usize::MAX)
}

fn terminal_width() -> Option<usize> {
    let (width, _) = terminal_size::terminal_size_of(std::io::stdout())?;
    Some(usize::from(width.0).max(WIDTH_MIN))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(&[
            Column::text("name"),
            Column::number("tool_count"),
            Column::text("title"),
            Column::sentence("error"),
        ]);
        let error = "the server ended: exit status: 3; last output: boom";
        table.row([Cell::new("a"), "2 tools".into(), Cell::default(), error.into()]);
        table.row(["a-long-name-of-a-server".into(), "12".into(), Cell::default(), Cell::default()]);
        table
    }

    fn check(width: usize, expected: &[&str]) {
        let lines = table().lines(width);
        let plain: Vec<_> = lines.iter().map(|line| anstream::adapter::strip_str(line).to_string()).collect();
        assert_eq!(plain, expected);
        assert!(plain.iter().all(|line| line.width() <= width), "{plain:?}");
    }

    #[test]
    fn what_does_not_fit_is_cut() {
        check(
            100,
            &[
                "NAME                     TOOL COUNT  ERROR",
                "a                           2 tools  the server ended: exit status: 3; last output: boom",
                "a-long-name-of-a-server          12",
            ],
        );
        check(
            60,
            &[
                "NAME                     TOOL COUNT  ERROR",
                "a                           2 tools  the server ended: exit…",
                "a-long-name-of-a-server          12",
            ],
        );
        check(
            40,
            &[
                "NAME                  TOOL COUNT  ERROR",
                "a                        2 tools  the s…",
                "a-long-name-of-a-se…          12",
            ],
        );
    }

    #[test]
    fn texts_are_cut_by_their_width_and_moved_by_nobody() {
        for (text, width, expected) in [
            ("abc", 3, "abc"),
            ("abcd", 3, "ab…"),
            ("ab cd", 4, "ab…"),
            // Wide characters take two columns.
            ("日本語", 6, "日本語"),
            ("日本語", 5, "日本…"),
            ("日本語", 4, "日…"),
        ] {
            assert_eq!(cut(text, width), expected);
            assert!(cut(text, width).width() <= width);
        }
        assert_eq!(Cell::new("a\n\u{1b}[2J").text, "a\\n\\u{1b}[2J");
    }
}
