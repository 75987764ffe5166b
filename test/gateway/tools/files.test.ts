import fc from 'fast-check'
import { type Test, test } from 'tap'
import type { Principal } from '../../../src/base/principal.js'
import { workspaceFiles } from '../../../src/compose/workspace-files.js'
import type { JsonObject } from '../../../src/gateway/formats/json-values.js'
import { createFilesTool } from '../../../src/gateway/tools/files/files.js'
import { idOf } from '../../support/data/accounts.js'
import { openStore } from '../../support/data/open-store.js'
import { tempFolder } from '../../support/data/temp-folder.js'
import { askTool, CALLER } from '../../support/tools/tool-call.js'

const callerOf = (workspace: number): Principal => ({ ...CALLER, workspaceId: idOf(workspace) })

function filesTool(t: Test) {
  const filesOf = workspaceFiles(openStore(t, tempFolder(t)))
  const tool = createFilesTool()
  const ask = (args: JsonObject, workspace = 1) =>
    askTool(tool, {}, args, { files: filesOf(callerOf(workspace)) })
  return { ask, files: filesOf(callerOf(1)) }
}

interface Told {
  readonly file_id: string
  readonly content: string
  readonly next_offset: number | null
  readonly error?: string
}

test('what a model writes it can list and read, and it is a created file of the answer', async (t) => {
  const { ask } = filesTool(t)
  const written = await ask({ command: 'write', filename: '../notes.txt', content: 'Grüße' })
  t.match(written, { isError: false, executed: true, files: [{ filename: 'notes.txt', sizeBytes: 7 }] })
  const { file_id } = written.content as Told
  t.match((await ask({ command: 'list' })).content, { files: [{ file_id, filename: 'notes.txt' }] })
  t.match((await ask({ command: 'read', file_id })).content, { content: 'Grüße', next_offset: null })
  t.same((await ask({ command: 'list' }, 2)).content, { files: [] })
  const others = await ask({ command: 'read', file_id }, 2)
  const unknown = await ask({ command: 'read', file_id: 'file_unknown' }, 2)
  t.same(others, unknown, 'what another workspace has is not told from what is not')
  t.ok(others.isError)
})

test('any text is read whole in pieces of any length', async (t) => {
  const { ask, files } = filesTool(t)
  await fc.assert(
    fc.asyncProperty(
      fc.string({ unit: 'binary', minLength: 1 }).map((text) => `a${text.toWellFormed()}`),
      fc.integer({ min: 4, max: 9 }),
      async (text, length) => {
        const { id } = await files.create('a.txt', Buffer.from(text))
        if (!(await files.find(id))!.mimeType.startsWith('text/')) return
        let read = ''
        for (let offset: number | null = 0; offset !== null; ) {
          const { content, next_offset } = (await ask({ command: 'read', file_id: id, offset, length }))
            .content as Told
          read += content
          if (next_offset !== null && next_offset <= offset) throw new Error('it does not go on')
          offset = next_offset
        }
        t.equal(read, text)
      },
    ),
  )
})

test('what cannot be read or written is told', async (t) => {
  const { ask, files } = filesTool(t)
  const picture = await files.create('a.png', Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'))
  const refused: readonly (readonly [JsonObject, RegExp])[] = [
    [{}, /command must be/],
    [{ command: 'list', limit: 101 }, /limit/],
    [{ command: 'read' }, /no file/],
    [{ command: 'read', file_id: picture.id }, /is no text/],
    [{ command: 'read', file_id: picture.id, offset: -1 }, /offset/],
    [{ command: 'read', file_id: picture.id, length: 65_537 }, /length/],
    [{ command: 'write', filename: '', content: 'x' }, /filename/],
    [{ command: 'write', filename: 'x', content: '' }, /content/],
    [{ command: 'write', filename: 'x', content: 'x'.repeat(1_048_577) }, /1048576 bytes/],
  ]
  for (const [args, reason] of refused) {
    const { content, isError, executed } = await ask(args)
    const { error } = content as Told
    t.ok(isError && reason.test(error!), JSON.stringify(args).slice(0, 60))
    t.equal(executed, /no file|is no text/.test(error!), 'what asks nothing of the workspace does not count')
  }
  const { content } = await askTool(createFilesTool(), {}, { command: 'write', filename: 'x', content: 'x' })
  t.match(content, { error: /could not be stored/ }, 'where the store refuses')
})
