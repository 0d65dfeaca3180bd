-- GIN keeps no weights, so a search in names alone would read every row that has the words anywhere.
create index if not exists words_name on words using gin (ts_filter(terms, '{a}')) with (fastupdate = on, gin_pending_list_limit = 1024);
create index if not exists words_front on words using gin (ts_filter(terms, '{a,b,c}')) with (fastupdate = on, gin_pending_list_limit = 1024);
