-- The log of changes is only ever added to.
create trigger audit_kept before update on audit begin select raise (abort, 'the audit log is only added to'); end;
create trigger audit_stays before delete on audit begin select raise (abort, 'the audit log is only added to'); end;
