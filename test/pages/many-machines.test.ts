/** The three terminals of docs/guide/many-machines.md, as a reader has them. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type Test, t } from 'tap'
import { ServerProcess } from '../../src/base/server-process.js'
import { runShell } from '../support/clients/shell.js'
import { tempFolder } from '../support/data/temp-folder.js'
import { freePort } from '../support/servers/listen.js'
import { PostgresCluster, WITHOUT_POSTGRES } from '../support/servers/postgres-cluster.js'
import { blocksOf } from './page-blocks.js'

const MAIN = fileURLToPath(new URL('../../src/main.js', import.meta.url))
const REASON = 'three terminals and a PostgreSQL, which test/pages/many-machines.test.ts has'
const READY_MS = 60_000
const STOP_MS = 30_000

/** What the reader has in the place of what the page says. */
async function placesOf(databaseUrl: string): Promise<(text: string) => string> {
  const places: [string, string][] = [
    ['postgres://postgres:secret@127.0.0.1:5432/postgres', databaseUrl],
    ['npx sluice', `${process.execPath} ${MAIN}`],
  ]
  for (const port of ['8081', '8082', '8083']) places.push([port, String(await freePort())])
  return (text) => places.reduce((changed, [shown, own]) => changed.replaceAll(shown, own), text)
}

/** A terminal that runs one command, which is ended with the test. */
async function openTerminal(t: Test, folder: string, command: string): Promise<ServerProcess> {
  // `exec`, so that signals reach the server and not the shell.
  const shell = ['/usr/bin/env', '-i', `PATH=${process.env.PATH}`, 'SLUICE_WORKERS=1', 'sh', '-c', command]
  const server = new ServerProcess(shell, { cwd: folder })
  t.after(() => server.stop(STOP_MS, () => server.signal('SIGKILL')))
  await server.untilListening(READY_MS)
  return server
}

t.test('three terminals are one Sluice', { skip: WITHOUT_POSTGRES }, async (t) => {
  const cluster = await PostgresCluster.start(t)
  const current = await placesOf(await cluster.database())
  const page = readFileSync('docs/guide/many-machines.md', 'utf8')
  const blocks = blocksOf(page).filter(({ reason }) => reason === REASON)
  t.equal(blocks.length, 4)
  const [once, settings, terminals, calls] = blocks.map(({ text }) => current(text)) as [
    string,
    string,
    string,
    string,
  ]
  const folder = tempFolder(t)
  const made = await runShell(once, { folder, env: {} })
  t.equal(made.code, 0, made.stderr)

  const servers: ServerProcess[] = []
  for (const line of terminals.split('\n')) {
    servers.push(
      await openTerminal(t, folder, `${settings}\nexport ${line.replace(/ (?=\S*node )/, '; exec ')}`),
    )
  }
  t.equal(servers.length, 3)
  const [, managementKey = ''] = /made a management key, shown only now: (\S+)/.exec(servers[0]!.stdout) ?? []
  t.match(managementKey, /^sk-sluice-mgmt-/, 'the first one prints the keys')
  for (const { stdout } of servers.slice(1)) t.notMatch(stdout, 'shown only now', 'the others do not')

  const [create, read, fleet] = calls.split('\n') as [string, string, string]
  const call = async (command: string): Promise<unknown> => {
    const { code, stdout, stderr } = await runShell(command, {
      folder,
      env: { MANAGEMENT_KEY: managementKey },
    })
    t.equal(code, 0, stderr)
    return JSON.parse(stdout)
  }
  const lamp = { id: 1, name: 'lamp', price: 25 }
  t.match(await call(create), lamp)
  t.match(await call(read), lamp, 'what one has made another has')
  t.match(await call(fleet), {
    data: {
      machines: [
        { name: 'ant', state: 'live' },
        { name: 'bee', state: 'live' },
        { name: 'cat', state: 'live' },
      ],
    },
  })
  const status = await runShell(`${settings}\n${current('npx sluice fleet status')}`, { folder, env: {} })
  t.match(status.stdout, '3 of 3 live; $0 frozen', status.stderr)
})
