-- The log of changes is only ever added to.
create function audit_is_added_to() returns trigger language plpgsql as
$$ begin raise exception 'the audit log is only added to'; end $$;
create trigger audit_kept before update or delete on audit for each row execute function audit_is_added_to();
