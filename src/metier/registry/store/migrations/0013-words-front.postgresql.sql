-- What the ranking looks at, beside the body's hundreds of terms: small enough to be read without decompression.
drop index if exists words_front;
alter table words add column front tsvector generated always as (ts_filter(terms, '{a,b,c}')) stored;
create index words_front on words using gin (front) with (fastupdate = on, gin_pending_list_limit = 1024);
analyze words;
