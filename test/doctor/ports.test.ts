/** Whose a taken port is, while a server works in the data folder. */
import { execFile } from 'node:child_process'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { t, test } from 'tap'
import { look } from '../../src/doctor/finding.js'
import { askListener, examinePorts, judgeListener, listeningSockets } from '../../src/doctor/ports.js'
import { tempFolder } from '../support/data/temp-folder.js'
import { mockUpstream, type Script } from '../support/providers/mock-upstream.js'
import { freePort, listen } from '../support/servers/listen.js'
import {
  folderOf,
  reasonAgainstLackOf,
  runAs,
  WITHOUT_OTHER_USERS,
  without,
} from '../support/servers/other-user.js'
import { serve } from '../support/servers/server-process.js'

/** Nothing here is measured by the clock: a look of its own would end after some seconds. */
const NEVER = new AbortController().signal

test('what another program holds is told although a server works in the folder; its own is well', async (t) => {
  const folder = tempFolder(t)
  const [metrics, lab] = [await freePort(), await freePort()]
  const env = { SLUICE_METRICS: `127.0.0.1:${metrics}`, SLUICE_LAB: `127.0.0.1:${lab}`, SLUICE_WORKERS: '2' }
  const { url, server } = await serve(t, env, folder)
  const settings = {
    ...{ host: '127.0.0.1', port: Number(new URL(url).port), tlsKey: '', consoleListen: '' },
    ...{ metrics: env.SLUICE_METRICS, lab: env.SLUICE_LAB, dataDir: join(folder, 'data') },
  }
  const own = {
    verdict: 'ok',
    found: new RegExp(`in use: a server \\(process ${server.pid}\\) .* listens there`),
  }
  t.match(await examinePorts(settings, NEVER), [own, own, own])
  const other = await listen(t, createServer())
  const taken = {
    verdict: 'warn',
    found: /in use, by another program: a server \(process \d+\)/,
    remedy: /end/,
  }
  t.match(await examinePorts({ ...settings, port: other }, NEVER), [taken, own, own])
  t.match(await examinePorts({ ...settings, metrics: `127.0.0.1:${other}` }, NEVER), [own, taken, own])
  t.match(await examinePorts({ ...settings, lab: `127.0.0.1:${other}` }, NEVER), [own, own, taken])
})

test('who may not see the listener is told so, and where nobody listens the address itself is wrong', (t) => {
  t.match(judgeListener('port 1 is already in use', 7, 'unseen'), { verdict: 'warn', remedy: /as root/ })
  t.match(judgeListener('cannot listen on 192.0.2.1:1', 7, 'nobody'), { verdict: 'fail' })
  t.end()
})

test('a kernel without IPv6 has its listeners in the one table, and without any nothing is known', (t) => {
  const row =
    '   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1'
  const missing = (code: string): never => {
    throw Object.assign(new Error(code), { code })
  }
  const read = (path: string) => (path.endsWith('tcp') ? `heading\n${row}\n` : missing('ENOENT'))
  t.same(listeningSockets(8080, read), new Set(['4711']))
  t.same(listeningSockets(8081, read), new Set())
  const refused = (path: string) => (path.endsWith('tcp') ? `heading\n${row}\n` : missing('EACCES'))
  t.equal(listeningSockets(8080, refused), null)
  t.equal(
    listeningSockets(8080, () => missing('ENOENT')),
    null,
  )
  t.end()
})

test('only an answer that is no health tells of another program', async (t) => {
  const ask = async (script: Script, signal = NEVER) => {
    const { origin } = await mockUpstream(t, script)
    return askListener(`${origin}/api/v1/health`, signal)
  }
  const health = { status: 'ok', worker: 0, uptime_s: 1 }
  t.equal(await ask((peer) => peer.json(health)), 'server')
  t.equal(await ask((peer) => peer.json({ status: 'ok' })), 'other')
  t.equal(await ask((peer) => peer.answer(200, '<html>')), 'other')
  t.equal(await ask((peer) => peer.reset()), 'unseen')
  t.equal(await ask((peer) => peer.cut()), 'unseen')
  const half = (peer: Parameters<Script>[0]) => {
    peer.head(200, { 'content-length': '100' })
    peer.write('{"status":')
    peer.cut()
  }
  t.equal(await ask(half), 'unseen')
  const late = new AbortController()
  t.equal(await ask(() => late.abort(), late.signal), 'unseen', 'asked, and no answer until the end')
})

test('no more is read of an answer than a health may have', async (t) => {
  const endless: Script = (peer) => {
    peer.streamHead()
    const fill = (): void => {
      while (!peer.socket.destroyed && peer.chunk(Buffer.alloc(16_384, ' ')));
    }
    peer.socket.on('drain', fill)
    fill()
  }
  const { origin, peers } = await mockUpstream(t, endless)
  t.equal(await askListener(origin, NEVER), 'other')
  await peers[0]?.closed()
})

test('what a look finds as its deadline comes counts', async (t) => {
  const { origin } = await mockUpstream(t)
  const question = { check: 'port', deadlineMs: 20, remedy: 'wait' }
  const found = await look(question, async (signal) =>
    judgeListener('port 1 is already in use', 7, await askListener(origin, signal)),
  )
  t.match(found, [{ verdict: 'warn', found: /cannot be seen/ }])
})

const BLIND = without('sys_ptrace')
const skip = WITHOUT_OTHER_USERS || reasonAgainstLackOf('sys_ptrace')

t.test('root without the right to look into processes', { skip }, async (t) => {
  const dataDir = await folderOf(t)
  const { program } = await runAs(t, dataDir, 'serve')
  const { url } = await program.untilListening(30_000)
  const settings = { host: '127.0.0.1', tlsKey: '', consoleListen: '', metrics: '', lab: '', dataDir }
  const examined = async (port: number): Promise<unknown> => {
    const script = `
      const { examinePorts } = await import(${JSON.stringify(import.meta.resolve('../../src/doctor/ports.js'))})
      const settings = ${JSON.stringify({ ...settings, port })}
      console.log(JSON.stringify(await examinePorts(settings, new AbortController().signal)))`
    const line = [...BLIND, process.execPath, '--input-type=module', '-e', script]
    return JSON.parse((await promisify(execFile)('setpriv', line)).stdout)
  }
  const own = [{ verdict: 'ok', found: /listens there$/ }]
  t.match(await examined(Number(new URL(url).port)), own, 'the health of a server answers')
  const other = await mockUpstream(t, (peer) => peer.json({}))
  t.match(await examined(other.port), [{ verdict: 'warn', found: /by another program/ }])
})
