"""Programs that talk to other machines: remote commands, copies, downloads, keys."""

from __future__ import annotations

from .program import Operands, Program

__all__ = ["TRANSFER"]

# -o ProxyCommand=, LocalCommand= and a configuration file start programs; -E and -L/-R/-D open a log or a port.
_SSH_STARTS = "-o: -F: -I: -S: -J: -P: -e: -m: -O: -W: -w: -Q:"
_SSH_WRITES = "-E: -L: -R: -D:"

TRANSFER = (
    Program(
        names="ssh slogin",
        safe="-1246AaCfGgKkMNnqsTtVvXxYy -B: -b: -c: -i: -l: -p:",
        starts=_SSH_STARTS,
        writes=_SSH_WRITES,
        operands=Operands.COMMAND,
        lead=1,
    ),
    Program(names="scp", safe="-346ABCpqrTvO -c: -i: -l: -P:", starts="-o: -F: -S: -D: -J: -X: -s", operands=Operands.PURPOSE),
    Program(
        names="sftp",
        safe="-46aCfNpqrv -i: -l: -P: -c: -B: -R:",
        starts="-o: -F: -S: -D: -J: -b: -s: -X:",
        operands=Operands.PURPOSE,
        most=1,
    ),
    Program(
        names="rsync",
        safe="-046abcCdDgHhiIklLmnNoOpPqrRstuUvWxXyzAESJ8 -f: -B: -M: --archive --verbose --quiet --recursive "
        "--relative --update --inplace --append --dirs --links --copy-links --hard-links --perms --executability "
        "--acls --xattrs --owner --group --devices --specials --times --omit-dir-times --sparse --dry-run "
        "--whole-file --one-file-system --existing --ignore-existing --delete --delete-before --delete-during "
        "--delete-after --delete-excluded --force --max-size= --min-size= --partial --prune-empty-dirs "
        "--numeric-ids --timeout= --ignore-times --size-only --compress --compress-level= --exclude= --include= "
        "--exclude-from= --include-from= --files-from= --from0 --checksum --stats --human-readable --progress "
        "--itemize-changes --out-format= --bwlimit= --list-only --info= --chmod= --no-perms --no-owner "
        "--no-group --mkpath --version --help",
        starts="-e: --rsh= --rsync-path= --server --daemon --config= --early-input= --remote-option= -M: --sender "
        "--dparam= --blocking-io --password-file= --address= --sockopts=",
        writes="-T: --temp-dir= --log-file= --log-file-format= --backup-dir= --partial-dir= --write-batch= "
        "--only-write-batch= --read-batch= --link-dest= --copy-dest= --compare-dest= --remove-source-files",
        operands=Operands.PURPOSE,
        walks="always",
        same="-e/--rsh",
    ),
    # Uploads (-T, -F, -d @file) and everything that sets headers from files are asked because they are not listed.
    Program(
        names="curl",
        safe="-0123456sSfgGhiIklLnqvVN# -A: -b: -e: -H: -m: -r: -u: -w: -x: -X: -y: -Y: -z: -Z --silent --show-error "
        "--fail --fail-with-body --fail-early --globoff --get --help --include --head --insecure --location "
        "--max-redirs= --verbose --version --no-buffer --user-agent= --cookie= --referer= --header= --max-time= "
        "--connect-timeout= --range= --user= --write-out= --proxy= --request= --compressed --http1.0 --http1.1 "
        "--http2 --http3 --ipv4 --ipv6 --progress-bar --no-progress-meter --retry= --retry-delay= "
        "--retry-max-time= --retry-connrefused --retry-all-errors --url= --url-query= --tlsv1.2 --tlsv1.3 "
        "--limit-rate= --parallel --parallel-max= --path-as-is --proto= --tcp-nodelay --oauth2-bearer= --raw "
        "--stderr=",
        writes="-o: -O -J -D: -c: -C: --output= --remote-name --remote-name-all --remote-header-name --output-dir= "
        "--create-dirs --create-file-mode= --dump-header= --cookie-jar= --trace= --trace-ascii= --stderr= "
        "--hsts= --alt-svc= --etag-save= --libcurl= --continue-at= --xattr -R --remote-time --ssl-sessions= -w: "
        "--write-out=",
        starts="-K: --config= --engine= -E: --cert= --key= --unix-socket= --abstract-unix-socket= --netrc-file= -Q: "
        "--quote= -t: --telnet-option=",
        operands=Operands.PURPOSE,
        same="-o/--output -O/--remote-name -X/--request -d/--data -T/--upload-file",
    ),
    # wget writes a file named by the server; only its print to standard output is without a file.
    Program(
        names="wget wget2",
        safe="-qvdScNnrlkpHLtTwQ46h --quiet --verbose --no-verbose --spider --server-response --timeout= --tries= "
        "--wait= --user-agent= -U: --header= --max-redirect= --no-check-certificate --timestamping --continue "
        "--progress= --show-progress --https-only --version --help --no-clobber -t: -T: -w: --quota= --no-proxy "
        "--inet4-only --inet6-only --compression= --content-on-error -nc -nv",
        writes="-O: --output-document= -P: --directory-prefix= -o: --output-file= -a: --append-output= -x "
        "--force-directories --save-cookies= --warc-file= --hsts-file= --rejected-log= -B: --base= "
        "--content-disposition --backups? --unlink --protocol-directories --cut-dirs= --default-page= "
        "--adjust-extension -E -K -r -p -m -k -l: --recursive --mirror --page-requisites --level= "
        "--convert-links --warc-cdx --warc-tempdir=",
        starts="-e: --execute= --use-askpass= --config= -i: --input-file= --post-file= --body-file= --ca-certificate= "
        "--crl-file= -F --force-html --load-cookies=",
        operands=Operands.PURPOSE,
        same="-O/--output-document",
    ),
    Program(names="http https httpie xh", operands=Operands.ASK, safe="--help --version"),
    # -e and -c start a program for each connection.
    Program(
        names="nc ncat netcat socat telnet ftp lftp tftp aria2c axel rclone s3cmd nmap tcpdump",
        operands=Operands.ASK,
        safe="-h -V --help --version",
    ),
    Program(
        names="ping ping6 traceroute tracepath dig nslookup host whois mtr",
        safe="-46nqvrabAsdxTOD -c: -i: -t: -W: -w: -s: -p: -I: -m: -M: +short --help --version",
        starts="-f: -k:",
    ),
    # -engine loads a library, `-out` writes, and several commands take a file of settings.
    Program(
        names="openssl",
        commands=(
            Program(names="version", safe="-a -v -d"),
            Program(
                names="x509 s_client crl req verify",
                long_dash=True,
                safe="-in: -text -noout -subject -issuer -dates -serial -fingerprint -sha256 -enddate -startdate -connect: "
                "-servername: -showcerts -CAfile: -brief -alpn: -tls1_2 -tls1_3 -purpose -pubkey -modulus -checkend: "
                "-inform: -nameopt:",
            ),
            Program(names="dgst rand", long_dash=True, safe="-sha256 -sha512 -sha1 -md5 -r -hex -base64 -c"),
        ),
    ),
    Program(
        names="gpg gpg2",
        safe="--list-keys --list-secret-keys --fingerprint --verify --version --help -k -K --with-colons "
        "--list-packets -v -q --batch --no-tty --keyid-format=",
    ),
    Program(
        names="ssh-keygen",
        safe="-l -v -E: -F: -B -f: -L",
        starts="-D: -w: -Y: -K -O:",
        writes="-R: -t: -p -y -e -i -s: -N: -C: -r: -M: -T: -G: -A -H -k",
    ),
    Program(names="ssh-add ssh-agent ssh-copy-id ssh-keyscan", operands=Operands.ASK, safe="-l -L -h"),
)
