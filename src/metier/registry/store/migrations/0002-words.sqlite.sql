-- Terms are stemmed before they are stored, so that both engines find the same. `detail = column` omits unused positions.
create virtual table words using fts5 (name, tags, about, body, tokenize = 'unicode61 remove_diacritics 0', prefix = '2 3', detail = column);
