-- Terms come stemmed, so that both engines find the same.
create table words (
    package bigint primary key references package (id) on delete cascade,
    terms tsvector not null
);
create index words_terms on words using gin (terms) with (fastupdate = off);
