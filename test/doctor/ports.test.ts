/** Whose a taken port is, while a server works in the data folder. */
import { createServer } from 'node:net'
import { join } from 'node:path'
import { t, test } from 'tap'
import { examinePorts, judgeListener, listeningSockets } from '../../src/doctor/ports.js'
import { tempFolder } from '../support/data/temp-folder.js'
import { freePort, listen } from '../support/servers/listen.js'
import {
  folderOf,
  reasonAgainstLackOf,
  runAs,
  runWith,
  WITHOUT_OTHER_USERS,
  without,
} from '../support/servers/other-user.js'
import { serve } from '../support/servers/server-process.js'

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
  t.match(await examinePorts(settings), [own, own, own])
  const other = await listen(t, createServer())
  const taken = {
    verdict: 'warn',
    found: /in use, by another program: a server \(process \d+\)/,
    remedy: /end/,
  }
  t.match(await examinePorts({ ...settings, port: other }), [taken, own, own])
  t.match(await examinePorts({ ...settings, metrics: `127.0.0.1:${other}` }), [own, taken, own])
  t.match(await examinePorts({ ...settings, lab: `127.0.0.1:${other}` }), [own, own, taken])
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

const BLIND = without('sys_ptrace')
const skip = WITHOUT_OTHER_USERS || reasonAgainstLackOf('sys_ptrace')

t.test('root without the right to look into processes', { skip }, async (t) => {
  const data = await folderOf(t)
  const { program } = await runAs(t, data, 'serve')
  const { url } = await program.untilListening(30_000)
  const doctor = async (port: string): Promise<string> => {
    const { program: looked } = await runWith(t, BLIND, data, ['doctor'], { PORT: port })
    return looked.stdout
  }
  t.match(await doctor(new URL(url).port), /^ok +port .*listens there$/m, 'the health of a server answers')
  const other = String(
    await listen(
      t,
      createServer((socket) => socket.end('no HTTP')),
    ),
  )
  t.match(await doctor(other), /^warn +port .*by another program/m)
})
