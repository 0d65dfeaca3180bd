-- Terms come stemmed, so that both engines find the same. Without the list of pending entries a publish into a large index costs twice.
create table words (
    package bigint primary key references package (id) on delete cascade,
    terms tsvector not null
);
create index words_terms on words using gin (terms) with (fastupdate = on, gin_pending_list_limit = 1024);
