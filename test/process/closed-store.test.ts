/** A store whose files the user of the server may not have: a sentence that says what to do, and no end by a signal. */
import { chmodSync, chownSync, lstatSync, readdirSync, rmSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type Test, t } from 'tap'
import { ServerProcess as Program } from '../../src/base/server-process.js'
import { tempFolder } from '../support/data/temp-folder.js'
import { KEYS, MAIN, runSluice, serve } from '../support/servers/server-process.js'
import { eventually } from '../support/timing/eventually.js'

const UID = 65_532
const ENV = { SLUICE_WORKERS: '1' }
const SKIP = process.geteuid?.() === 0 ? false : 'only root may start a server as another user'
const LOCKS = ['lock.mdb', join('ledger', 'lock.mdb')]

/** The data folder of a server that has served and ended, which belongs to that user with all it holds. */
async function folderOf(t: Test, uid: number): Promise<string> {
  const folder = tempFolder(t)
  const { server } = await serve(t, ENV, folder)
  await server.stop()
  chownSync(folder, uid, uid)
  const data = join(folder, 'data')
  const names = ['.', ...(readdirSync(data, { recursive: true }) as string[])]
  for (const name of names) chownSync(join(data, name), uid, uid)
  return data
}

/** Runs the program as that user; resolves when it listens, or has ended. */
async function runAs(t: Test, uid: number, data: string, ...command: string[]) {
  const settings = { ...KEYS, ...ENV, PORT: '0', PATH: '/usr/bin:/bin', SLUICE_DATA_DIR: data }
  const variables = Object.entries(settings).map(([name, value]) => `${name}=${value}`)
  const user = ['setpriv', `--reuid=${uid}`, `--regid=${uid}`, '--clear-groups']
  const line = [...user, 'env', '-i', ...variables, process.execPath, MAIN, ...command]
  const program = new Program(line, { cwd: dirname(data) })
  let ended: unknown = null
  void program.closed.then((exit) => {
    ended = exit
  })
  t.after(async () => {
    program.signal('SIGTERM')
    await program.closed
  })
  await eventually(() => (ended !== null || /listening on/.test(program.stdout) ? true : null), 30_000)
  return { program, ended }
}

t.test('as another user', { skip: SKIP }, async (t) => {
  t.test('a lock file of root ends the start with what to do, and the doctor says the same', async (t) => {
    const data = await folderOf(t, UID)
    for (const name of LOCKS) {
      const path = join(data, name)
      chownSync(path, 0, 0)
      chmodSync(path, 0o600)
      const { program, ended } = await runAs(t, UID, data, 'serve')
      const sentence = `${path} cannot be read by this user (uid ${UID}): chown -R ${UID} ${dirname(path)}`
      t.match(ended, { code: 1, signal: null }, name)
      t.match(program.stderr, `sluice: ${sentence}`)
      const looked = await runAs(t, UID, data, 'doctor')
      t.match(looked.ended, { code: 1, signal: null })
      t.match(
        looked.program.stdout,
        new RegExp(`^fail +databases +${sentence.replace(/[()]/g, '\\$&')}`, 'm'),
      )
      const asRoot = await runSluice(t, ['doctor'], { env: { PORT: '0', SLUICE_DATA_DIR: data } })
      t.match(asRoot.stdout, `${path} belongs to root, and the folder to uid ${UID}: chown -R ${UID} ${data}`)
      chownSync(path, UID, UID)
    }
    const { program, ended } = await runAs(t, UID, data, 'keys', 'list')
    t.match(ended, { code: 0 }, program.stderr)
  })

  t.test('a command on a lock file of root ends with the sentence as well', async (t) => {
    const data = await folderOf(t, UID)
    chownSync(join(data, 'lock.mdb'), 0, 0)
    const { program, ended } = await runAs(t, UID, data, 'keys', 'list')
    t.match(ended, { signal: null })
    t.match(program.stderr, /lock\.mdb cannot be read by this user \(uid 65532\): chown -R 65532 /)
  })

  t.test('root may look at a backup, and ask for keys, before its user starts the server', async (t) => {
    const data = await folderOf(t, UID)
    for (const command of [['doctor'], ['upgrade', '--check'], ['keys', 'list']]) {
      for (const name of LOCKS) rmSync(join(data, name), { force: true })
      const env = { PORT: '0', SLUICE_DATA_DIR: data }
      t.equal((await runSluice(t, command, { env })).code, 0)
      const names = readdirSync(data, { recursive: true }) as string[]
      const ofRoot = names.filter((name) => lstatSync(join(data, name)).uid !== UID)
      t.same(ofRoot, [], `after ${command.join(' ')}`)
      t.equal(statSync(join(data, 'lock.mdb')).mode & 0o777, 0o600)
    }
    const { program, ended } = await runAs(t, UID, data, 'serve')
    t.equal(ended, null, program.stderr)
  })

  t.test('a backup that root restored is told as that, and not as one to restore', async (t) => {
    const data = await folderOf(t, UID)
    for (const name of readdirSync(data)) chownSync(join(data, name), 0, 0)
    const { program, ended } = await runAs(t, UID, data, 'serve')
    t.match(ended, { code: 1 })
    t.match(program.stderr, `format.json cannot be read by this user (uid ${UID}): chown -R ${UID} ${data}`)
    const looked = await runAs(t, UID, data, 'doctor')
    t.match(looked.program.stdout, /^fail +data folder +\S+format\.json cannot be read by this user/m)
    t.match(looked.program.stdout, /^fail +databases +\S+data\.mdb cannot be read by this user/m)
    t.notMatch(looked.program.stdout, /backup/)
    chownSync(data, 0, 0)
    const closed = await runAs(t, UID, data, 'upgrade', '--check')
    t.match(closed.program.stdout, /^fail +databases +\S+data\.mdb cannot be read by this user/m)
    t.notMatch(closed.program.stdout, /no store|none yet|backup/)
  })
})
