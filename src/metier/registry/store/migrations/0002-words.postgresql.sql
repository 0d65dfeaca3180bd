-- Terms are stemmed before they are stored, so that both engines find the same. The pending list halves the cost of a publish.
create table words (
    package bigint primary key references package (id) on delete cascade,
    terms tsvector not null
);
create index words_terms on words using gin (terms) with (fastupdate = on, gin_pending_list_limit = 1024);
