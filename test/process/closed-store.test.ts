/** A store whose files the user of the server may not have: a sentence that says what to do, and no end by a signal. */
import { spawnSync } from 'node:child_process'
import { chmodSync, chownSync, lstatSync, readdirSync, rmSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { t } from 'tap'
import {
  folderOf,
  reasonAgainstLackOf,
  runAs,
  runWith,
  UID,
  WITHOUT_OTHER_USERS,
  without,
} from '../support/servers/other-user.js'
import { runSluice } from '../support/servers/server-process.js'

const LOCKS = ['lock.mdb', join('ledger', 'lock.mdb')]

t.test('as another user', { skip: WITHOUT_OTHER_USERS }, async (t) => {
  t.test('a lock file of root ends the start with what to do, and the doctor says the same', async (t) => {
    const data = await folderOf(t)
    for (const name of LOCKS) {
      const path = join(data, name)
      chownSync(path, 0, 0)
      chmodSync(path, 0o600)
      const { program, ended } = await runAs(t, data, 'serve')
      const sentence = `${path} cannot be used by this user (uid ${UID}): chown -R ${UID} ${dirname(path)}`
      t.match(ended, { code: 1, signal: null }, name)
      t.match(program.stderr, `sluice: ${sentence}`)
      const looked = await runAs(t, data, 'doctor')
      t.match(looked.ended, { code: 1, signal: null })
      t.match(
        looked.program.stdout,
        new RegExp(`^fail +databases +${sentence.replace(/[()]/g, '\\$&')}`, 'm'),
      )
      const asRoot = await runSluice(t, ['doctor'], { env: { PORT: '0', SLUICE_DATA_DIR: data } })
      t.match(asRoot.stdout, `${path} belongs to root, and the folder to uid ${UID}: chown -R ${UID} ${data}`)
      chownSync(path, UID, UID)
    }
    const { program, ended } = await runAs(t, data, 'keys', 'list')
    t.match(ended, { code: 0 }, program.stderr)
  })

  t.test('a command on a lock file of root ends with the sentence as well', async (t) => {
    const data = await folderOf(t)
    chownSync(join(data, 'lock.mdb'), 0, 0)
    const { program, ended } = await runAs(t, data, 'keys', 'list')
    t.match(ended, { signal: null })
    t.match(program.stderr, /lock\.mdb cannot be used by this user \(uid 65532\): chown -R 65532 /)
  })

  t.test('root may look at a backup, and ask for keys, before its user starts the server', async (t) => {
    const data = await folderOf(t)
    for (const command of [['doctor'], ['upgrade', '--check'], ['keys', 'list']]) {
      for (const name of LOCKS) rmSync(join(data, name), { force: true })
      const env = { PORT: '0', SLUICE_DATA_DIR: data }
      t.equal((await runSluice(t, command, { env })).code, 0)
      const names = readdirSync(data, { recursive: true }) as string[]
      const ofRoot = names.filter((name) => lstatSync(join(data, name)).uid !== UID)
      t.same(ofRoot, [], `after ${command.join(' ')}`)
      t.equal(statSync(join(data, 'lock.mdb')).mode & 0o777, 0o600)
    }
    const { program, ended } = await runAs(t, data, 'serve')
    t.equal(ended, null, program.stderr)
  })

  t.test('a backup that root restored is told as that, and not as one to restore', async (t) => {
    const data = await folderOf(t)
    for (const name of readdirSync(data)) chownSync(join(data, name), 0, 0)
    const { program, ended } = await runAs(t, data, 'serve')
    t.match(ended, { code: 1 })
    t.match(program.stderr, `format.json cannot be used by this user (uid ${UID}): chown -R ${UID} ${data}`)
    const looked = await runAs(t, data, 'doctor')
    t.match(looked.program.stdout, /^fail +data folder +\S+format\.json cannot be used by this user/m)
    t.match(looked.program.stdout, /^fail +databases +\S+data\.mdb cannot be used by this user/m)
    t.notMatch(looked.program.stdout, /backup/)
    chownSync(data, 0, 0)
    const closed = await runAs(t, data, 'upgrade', '--check')
    t.match(closed.program.stdout, /^fail +databases +\S+data\.mdb cannot be used by this user/m)
    t.notMatch(closed.program.stdout, /no store|none yet|backup/)
  })
})

const UNABLE_TO_GIVE = without('chown')
const skip = reasonAgainstLackOf('chown')

t.test('tests as another user are skipped where no file can be given to one', { skip }, (t) => {
  const support = JSON.stringify(import.meta.resolve('../support/servers/other-user.js'))
  const script = `console.log((await import(${support})).WITHOUT_OTHER_USERS)`
  const line = [...UNABLE_TO_GIVE, process.execPath, '--input-type=module', '-e', script]
  t.match(spawnSync('setpriv', line, { encoding: 'utf8' }), {
    status: 0,
    stdout: /^a file cannot be given to user \d+ here$/m,
  })
  t.end()
})

t.test('root that can give no file away finds a sound database sound', { skip }, async (t) => {
  for (const command of [['doctor'], ['upgrade', '--check'], ['keys', 'list'], ['serve']]) {
    const data = await folderOf(t)
    for (const name of LOCKS) rmSync(join(data, name))
    const { program, ended } = await runWith(t, UNABLE_TO_GIVE, data, command)
    t.match(ended ?? { code: 0 }, { code: 0 }, `${command.join(' ')}: ${program.stderr}`)
    t.notMatch(program.stdout + program.stderr, /damaged|backup in its place|EPERM/)
    program.signal('SIGTERM')
    await program.closed
    const drafts = (readdirSync(data, { recursive: true }) as string[]).filter((name) => /mdb\./.test(name))
    t.same(drafts, [])
  }
})
