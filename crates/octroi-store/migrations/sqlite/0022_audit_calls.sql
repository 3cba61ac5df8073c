-- How the calls of each tool by each agent went in each span of ten minutes. Each took_* counts the calls that took at
-- most as long as one bound of the code and longer than the bound before it; the last one counts all longer ones.
CREATE TABLE audit_calls (
    span    INTEGER NOT NULL,
    agent   TEXT    NOT NULL,
    tool    TEXT    NOT NULL,
    calls   INTEGER NOT NULL,
    errors  INTEGER NOT NULL,
    denials INTEGER NOT NULL,
    took_0  INTEGER NOT NULL,
    took_1  INTEGER NOT NULL,
    took_2  INTEGER NOT NULL,
    took_3  INTEGER NOT NULL,
    took_4  INTEGER NOT NULL,
    took_5  INTEGER NOT NULL,
    took_6  INTEGER NOT NULL,
    took_7  INTEGER NOT NULL,
    took_8  INTEGER NOT NULL,
    took_9  INTEGER NOT NULL,
    took_10 INTEGER NOT NULL,
    took_11 INTEGER NOT NULL,
    took_12 INTEGER NOT NULL,
    took_13 INTEGER NOT NULL,
    took_14 INTEGER NOT NULL,
    PRIMARY KEY (span, agent, tool)
) STRICT, WITHOUT ROWID;
