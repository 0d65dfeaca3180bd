-- Terms come stemmed, so that both engines find the same; `detail = column` leaves out positions, which nothing asks for.
create virtual table words using fts5 (name, tags, about, body, tokenize = 'unicode61 remove_diacritics 0', prefix = '2 3', detail = column);
