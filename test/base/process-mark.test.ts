import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'tap'
import { isAtWork, processMark } from '../../src/base/process-mark.js'

test('a process is at work as long as it runs, and nobody else is taken for it', async (t) => {
  t.ok(isAtWork(processMark()))
  const [pid = ''] = processMark().split('.')
  t.notOk(isAtWork(`${pid}.1`), 'an earlier one of that number')
  t.notOk(isAtWork('4194305.1'), 'no process has this number')
})

test('a process that was killed is not at work', async (t) => {
  const code = `import(${JSON.stringify(new URL('../../src/base/process-mark.js', import.meta.url).href)})
    .then(({ processMark }) => { console.log(processMark()); setInterval(() => {}, 1000) })`
  const child = spawn(process.execPath, ['-e', code], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [said] = (await once(child.stdout, 'data')) as [Buffer]
  const mark = said.toString().trim()
  t.match(mark, /^\d+\.\d+$/)
  t.ok(isAtWork(mark))
  child.kill('SIGKILL')
  await once(child, 'exit')
  t.notOk(isAtWork(mark))
})
