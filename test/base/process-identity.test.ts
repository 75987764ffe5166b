import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'tap'
import { isProcessAlive, ownProcessIdentity } from '../../src/base/process-identity.js'

test('a process is at work as long as it runs, and nobody else is taken for it', async (t) => {
  t.ok(isProcessAlive(ownProcessIdentity()))
  const [pid = ''] = ownProcessIdentity().split('.')
  t.notOk(isProcessAlive(`${pid}.1`), 'an earlier one of that number')
  t.notOk(isProcessAlive('4194305.1'), 'no process has this number')
})

test('a process that was killed is not at work', async (t) => {
  const code = `import(${JSON.stringify(new URL('../../src/base/process-identity.js', import.meta.url).href)})
    .then(({ ownProcessIdentity }) => { console.log(ownProcessIdentity()); setInterval(() => {}, 1000) })`
  const child = spawn(process.execPath, ['-e', code], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [said] = (await once(child.stdout, 'data')) as [Buffer]
  const mark = said.toString().trim()
  t.match(mark, /^\d+\.\d+$/)
  t.ok(isProcessAlive(mark))
  child.kill('SIGKILL')
  await once(child, 'exit')
  t.notOk(isProcessAlive(mark))
})
