/** What a command takes is bounded, and gone when it is over. */
import { readdirSync } from 'node:fs'
import { test } from 'tap'
import { eventually } from '../../../support/timing/eventually.js'
import {
  LIMITS,
  leftProcesses,
  OWNER,
  openSandboxStage,
  whyNoSandbox,
} from '../../../support/tools/local-sandbox.js'

const why = await whyNoSandbox()
/** A tenth of the command: idle work ends slowly on a machine that has much else to do. */
const MOST_MS = 10_000
const hasSandbox = { skip: why ?? false }

test('bombs, floods and hoards end with their command', hasSandbox, async (t) => {
  const stage = await openSandboxStage()
  t.teardown(() => stage.close())
  const { id } = await stage.sandbox.create(OWNER)
  const inContainer = { container: id }
  await stage.run('echo kept > kept.txt', inContainer)

  const bomb = await stage.run(
    ':() { : | : & }; : 2>/dev/null; sleep 0.3; ls -d /proc/[0-9]* | wc -l',
    inContainer,
  )
  t.ok(Number(bomb.stdout.trim() || 0) <= LIMITS.processes + 2, 'a fork bomb', bomb)

  const zombies = await stage.run(
    `perl -e '$SIG{CHLD} = "DEFAULT"; for (1..1000) { my $p = fork; last if !defined $p; exit if $p == 0 } print "bounded"; sleep 1'`,
  )
  t.match(zombies, { stdout: 'bounded', exitCode: 0 }, 'a thousand zombies')

  const one = await stage.run(`perl -e '$x = "a" x (10 * 2**30); print "open"'`, inContainer)
  t.notMatch(one.stdout, /open/, '10 GB of memory in a process')

  const many = await stage.run(
    `for i in $(seq 1 20); do perl -e '$x = "a" x (64 * 2**20); sleep 20' & done; wait; echo open`,
    inContainer,
  )
  t.match(many, { ended: 'memory', exitCode: null }, 'memory in many processes')

  const shared = await stage.run(
    `perl -e 'for (1..20) { $p = fork; if ($p == 0) { $x = "b" x (40 * 2**20); sleep 20; exit } } 1 while wait != -1; print "open"'`,
    inContainer,
  )
  t.match(shared, { ended: 'memory' }, 'memory of children')

  const disk = await stage.run(
    'for f in a /tmp/b /dev/shm/c; do head -c 10G /dev/zero >$f; done 2>/dev/null; cat a /tmp/b /dev/shm/c | wc -c; rm -f a',
    inContainer,
  )
  t.ok(Number(disk.stdout) > 0 && Number(disk.stdout) <= LIMITS.diskBytes, '10 GB of files', disk)

  const unlinked = await stage.run(
    `perl -e '$n = 0; for (1..100) { open $f[$_], ">", "/tmp/x$_" or last; unlink "/tmp/x$_"; $n += syswrite($f[$_], "a" x 2**20) || 0 } print $n'`,
  )
  t.ok(Number(unlinked.stdout) <= LIMITS.diskBytes, 'files without a name', unlinked)

  const names = await stage.run(
    'for i in $(seq 1 20000); do : > /tmp/$i || break; done 2>/dev/null; ls /tmp | wc -l',
    inContainer,
  )
  t.ok(Number(names.stdout) < LIMITS.files, 'many files', names)

  const sparse = await stage.run(
    'truncate -s 10G a; echo $?; for i in $(seq 1 40); do truncate -s 30M s$i; done',
    inContainer,
  )
  t.match(sparse, { stdout: /^[1-9]/, ended: 'quota' }, 'files with holes')

  const sockets = await stage.run(
    `perl -MSocket -e 'for (1..30) { last unless defined(fork) } for (1..60) { socketpair($a[$_], $b[$_], AF_UNIX, SOCK_STREAM, 0) or last } sleep 20'`,
  )
  t.match(sockets, { ended: 'memory' }, 'buffers of sockets')

  const flood = await stage.run('yes | head -c 5000000; echo end', inContainer)
  t.match(flood.stdout, /^y\ny\n[\s\S]*bytes are left out[\s\S]*end\n$/, 'a flood of output')
  t.ok(flood.stdout.length < 20_000)

  const daemon = await stage.run(
    '(nohup sleep 1000 >/dev/null 2>&1 &) ; (sleep 1000 & disown) ; echo started',
    inContainer,
  )
  t.match(daemon, { stdout: 'started\n', exitCode: 0 }, 'what stays behind')

  const long = await stage.run('echo begun; touch late.txt; sleep 1000', {
    ...inContainer,
    timeoutMs: 10_000,
  })
  t.match(long, { stdout: 'begun\n', ended: 'timeout', changed: [{ path: 'late.txt' }] }, 'a long sleep')

  const left = await stage.run('cat kept.txt; ls', inContainer)
  t.equal(
    left.stdout,
    'kept\nkept.txt\nlate.txt\n',
    'what was killed for its greed has left the container as it was',
  )
  t.same(leftProcesses(), [], 'no process is left')
})

test('a command that is cancelled is over soon, and the container as before', hasSandbox, async (t) => {
  const stage = await openSandboxStage()
  t.teardown(() => stage.close())
  const { id } = await stage.sandbox.create(OWNER)
  const command = {
    command: 'touch x; sleep 100 & sleep 100',
    timeoutMs: 60_000,
    maxOutputBytes: 1_024,
    allowedDomains: [],
  }
  for (const afterMs of [0, 3, 10, 30, 200, 500]) {
    const leaving = new AbortController()
    const running = stage.sandbox.run(OWNER, id, command, leaving.signal).catch((error: Error) => error)
    await new Promise((resolve) => setTimeout(resolve, afterMs))
    const left = performance.now()
    leaving.abort()
    const outcome = await running
    t.ok(performance.now() - left < MOST_MS, `cancelled after ${afterMs} ms`)
    t.ok(outcome instanceof Error || outcome.ended === 'aborted')
    await eventually(() => leftProcesses().length === 0)
  }
  t.equal((await stage.run('ls', { container: id })).stdout, '')
  const files = readdirSync(stage.folder, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  )
  t.ok(files.length <= 2, 'its record and its archive')
})
