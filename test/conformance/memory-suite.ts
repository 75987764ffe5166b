/** What models keep, by the tool that they keep it with, in every implementation of the store (src/store/memory-store.ts). */
import fc from 'fast-check'
import { type Test, test } from 'tap'
import type { Principal } from '../../src/base/principal.js'
import { workspaceTexts } from '../../src/compose/workspace-files.js'
import type { JsonObject } from '../../src/gateway/formats/json-values.js'
import { createMemoryTool, createTextEditorTool } from '../../src/gateway/tools/memory/memory.js'
import type { PreparedTool, ServerTool, ToolOutcome } from '../../src/gateway/tools/port/tool.js'
import { LONGEST_TEXT, MOST_TEXT_BYTES, MOST_TEXTS } from '../../src/store/memory-store.js'
import type { Store } from '../../src/store/store.js'
import { idOf } from '../support/data/accounts.js'
import { askTool, CALLER, prepared, REQUEST, requested, toolRun } from '../support/tools/tool-call.js'

interface MemoryStoreKind {
  readonly name: string
  /** The test that the suite's tests belong to, where they need what ends with it. */
  readonly within?: Test
  /** Where stores keep what outlives them; new and empty. */
  place(t: Test): Promise<string>
  /** Opens a store there; it is closed with the test. */
  open(t: Test, place: string): Pick<Store, 'memory' | 'accounts'>
}

type Declare = (name: string, run: (t: Test, kind: MemoryStoreKind) => Promise<void>) => void

/** Declares the suite's tests for one implementation. */
export function memorySuite(kind: MemoryStoreKind): void {
  const declare: Declare = (name, run) => {
    const body = (t: Test): Promise<void> => run(t, kind)
    const titled = `${kind.name}: ${name}`
    void (kind.within === undefined ? test(titled, body) : kind.within.test(titled, body))
  }
  for (const part of [commands, refusals, room, editor, long, histories, paths]) part(declare)
}

const callerOf = (workspace: number): Principal => ({ ...CALLER, workspaceId: idOf(workspace) })

/** A memory in a store of its own, and how a model of a workspace asks it. */
async function memoryOf(t: Test, kind: MemoryStoreKind, place?: string) {
  const tool = createMemoryTool(workspaceTexts(kind.open(t, place ?? (await kind.place(t)))))
  return {
    tool,
    ask: (args: JsonObject, workspace = 1) => askTool(tool, {}, args, { caller: callerOf(workspace) }),
  }
}

const outputOf = ({ content, isError }: ToolOutcome): string => {
  const { output, error } = content as { output?: string; error?: string }
  if (isError !== (error !== undefined)) throw new Error('an error that is not marked')
  return output ?? `error: ${error}`
}

/** What a correct memory holds after the same commands: the reference. */
class MemoryModel {
  readonly texts = new Map<string, string>()

  #at(key: string): string[] {
    return [...this.texts.keys()].filter((each) => each === key || each.startsWith(`${key}/`))
  }

  #isWithinText(key: string): boolean {
    return [...this.texts.keys()].some((each) => key.startsWith(`${each}/`))
  }

  apply({ command, path, to, text }: Command): void {
    const at = this.#at(path)
    const current = this.texts.get(path)
    if (command === 'create' && at.length === 0 && !this.#isWithinText(path)) this.texts.set(path, text)
    if (command === 'delete') for (const each of at) this.texts.delete(each)
    if (command === 'insert' && current !== undefined)
      this.texts.set(path, current === '' ? text : `${text}\n${current}`)
    if (command === 'str_replace' && current !== undefined && current.split('a').length === 2)
      this.texts.set(
        path,
        current.replace('a', () => text),
      )
    const isFree = this.#at(to).length === 0 && !this.#isWithinText(to) && !to.startsWith(`${path}/`)
    if (command === 'rename' && at.length > 0 && isFree) {
      const moved = at.map((each) => [to + each.slice(path.length), this.texts.get(each)!] as const)
      for (const each of at) this.texts.delete(each)
      for (const [each, said] of moved) this.texts.set(each, said)
    }
  }
}

interface Command {
  readonly command: 'create' | 'delete' | 'rename' | 'insert' | 'str_replace'
  readonly path: string
  readonly to: string
  readonly text: string
}

function commands(declare: Declare): void {
  declare('a text is created, viewed, changed, moved and deleted', async (t, kind) => {
    const { ask } = await memoryOf(t, kind)
    const say = async (args: JsonObject): Promise<string> => outputOf(await ask(args))
    t.equal(await say({ command: 'view', path: '/memories' }), '/memories is empty')
    const notes = '/memories/user/notes.md'
    t.equal(await say({ command: 'create', path: notes, file_text: 'one\ntwo\nthree' }), `Created ${notes}`)
    t.match(await say({ command: 'create', path: notes, file_text: 'x' }), /^error: .* exists already/)
    t.equal(
      await say({ command: 'view', path: '/memories' }),
      '/memories holds:\n13 bytes\t/memories/user/\n13 bytes\t/memories/user/notes.md',
    )
    t.equal(
      await say({ command: 'view', path: notes }),
      `${notes}, 3 lines:\n     1\tone\n     2\ttwo\n     3\tthree`,
    )
    t.equal(
      await say({ command: 'view', path: notes, view_range: [2, -1] }),
      `${notes}, 3 lines:\n     2\ttwo\n     3\tthree`,
    )
    t.match(await say({ command: 'str_replace', path: notes, old_str: 'two', new_str: '2' }), /\t2\n/)
    t.match(await say({ command: 'insert', path: notes, insert_line: 0, insert_text: 'zero\n' }), /1\tzero/)
    t.equal(
      await say({ command: 'rename', old_path: '/memories/user', new_path: 'old/user' }),
      'Renamed /memories/user to /memories/old/user',
    )
    t.match(await say({ command: 'view', path: '/memories/old/user/notes.md' }), /1\tzero\n.*\n.*3\t2\n/)
    t.equal(await say({ command: 'delete', path: '/memories/old' }), 'Deleted /memories/old')
    t.equal(await say({ command: 'view', path: '/memories' }), '/memories is empty')
  })
}

function refusals(declare: Declare): void {
  declare('what cannot be done is told and changes nothing', async (t, kind) => {
    const { ask } = await memoryOf(t, kind)
    await ask({ command: 'create', path: '/memories/a/b', file_text: 'x x\nx' })
    const refused: readonly (readonly [JsonObject, RegExp])[] = [
      [{}, /command must be one of view, create/],
      [{ command: 'undo_edit', path: 'a/b' }, /command must be one of/],
      [{ command: 'view', path: 'a/c' }, /\/memories\/a\/c does not exist/],
      [{ command: 'view', path: 'a/b', view_range: [0, 1] }, /view_range/],
      [{ command: 'view', path: 'a/b', view_range: [2, 1] }, /view_range/],
      [{ command: 'view', path: 7 }, /path must be a text/],
      [{ command: 'create', path: 'a', file_text: 'y' }, /is a folder/],
      [{ command: 'create', path: 'a/b/c', file_text: 'y' }, /would lie in a text/],
      [{ command: 'create', path: '/memories', file_text: 'y' }, /must name a text/],
      [{ command: 'create', path: 'c' }, /file_text must be a text/],
      [
        { command: 'str_replace', path: 'a/b', old_str: 'x', new_str: 'y' },
        /more than once, in lines 1, 1, 2/,
      ],
      [{ command: 'str_replace', path: 'a/b', old_str: 'z', new_str: 'y' }, /does not stand in/],
      [{ command: 'str_replace', path: 'a/b', old_str: '', new_str: 'y' }, /must not be empty/],
      [{ command: 'str_replace', path: 'a', old_str: 'x', new_str: 'y' }, /is a folder/],
      [{ command: 'insert', path: 'a/b', insert_line: 3, insert_text: 'y' }, /from 0 to 2/],
      [{ command: 'insert', path: 'a/b', insert_line: 0.5, insert_text: 'y' }, /from 0 to 2/],
      [{ command: 'delete', path: '/memories' }, /must name a text/],
      [{ command: 'delete', path: 'c' }, /does not exist/],
      [{ command: 'rename', old_path: 'a', new_path: 'a/b/c' }, /would lie in a text/],
      [{ command: 'rename', old_path: 'a', new_path: 'a/d' }, /lies in \/memories\/a/],
      [{ command: 'rename', old_path: 'a/b', new_path: 'a/b' }, /exists already/],
      [{ command: 'create', path: '../x', file_text: 'y' }, /without "\.\."/],
      [{ command: 'create', path: 'a//b', file_text: 'y' }, /without "\.\."/],
      [{ command: 'create', path: 'a/./b', file_text: 'y' }, /without "\.\."/],
      [{ command: 'create', path: 'a b', file_text: 'y' }, /made of letters/],
      [{ command: 'create', path: 'a\0b', file_text: 'y' }, /made of letters/],
      [{ command: 'create', path: 'c'.repeat(257), file_text: 'y' }, /256 characters/],
      [{ command: 'create', path: 'c', file_text: 'y'.repeat(LONGEST_TEXT + 1) }, /no room/],
    ]
    for (const [args, reason] of refused) {
      const { content, isError, executed } = await ask(args)
      t.equal(executed, !reason.source.startsWith('command must be'), 'what is no command does not count')
      t.ok(isError && reason.test((content as { error: string }).error), JSON.stringify(args).slice(0, 80))
    }
    t.match(outputOf(await ask({ command: 'view', path: 'a/b' })), /1\tx x\n {5}2\tx$/)
    t.equal(outputOf(await ask({ command: 'view', path: '' })).split('\n').length, 3, 'nothing was added')
  })
}

function room(declare: Declare): void {
  declare('a workspace has its own texts and its own room, over restarts', async (t, kind) => {
    const path = await kind.place(t)
    await t.test('in one process', async (inner) => {
      const { ask } = await memoryOf(inner, kind, path)
      const whole = 'y'.repeat(LONGEST_TEXT)
      const count = MOST_TEXT_BYTES / LONGEST_TEXT
      for (let n = 0; n < count; n++) await ask({ command: 'create', path: `${n}`, file_text: whole })
      t.match(outputOf(await ask({ command: 'create', path: 'more', file_text: 'y' })), /no room/)
      t.match(outputOf(await ask({ command: 'create', path: '0', file_text: 'other' }, 2)), /^Created/)
      await ask({ command: 'delete', path: '0' })
      t.match(outputOf(await ask({ command: 'create', path: 'more', file_text: 'y' })), /^Created/)
      for (let n = 1; n < count; n++) await ask({ command: 'delete', path: `${n}` })
      for (let n = 1; n < MOST_TEXTS; n++) await ask({ command: 'create', path: `t/${n}`, file_text: '' })
      t.match(outputOf(await ask({ command: 'create', path: 'last', file_text: '' })), /no room/)
      const all = outputOf(await ask({ command: 'view', path: '/memories' })).split('\n')
      t.same([all.length, all.at(-1)], [202, '[and 801 more: view a folder within]'], 'a long list is cut')
    })
    const { ask } = await memoryOf(t, kind, path)
    t.match(outputOf(await ask({ command: 'view', path: '0' }, 2)), /other/)
    t.match(outputOf(await ask({ command: 'view', path: '0' }, 1)), /does not exist/)
    const { content } = await askTool(
      (await memoryOf(t, kind)).tool,
      {},
      { command: 'create', path: 'a', file_text: 'x' },
      {
        caller: { ...CALLER, workspaceId: null },
      },
    )
    t.match((content as { error: string }).error, /no room/, 'an organization without a workspace')
  })
}

function editor(declare: Declare): void {
  declare('the text editor works on the same texts and cannot delete', async (t, kind) => {
    const texts = workspaceTexts(kind.open(t, await kind.place(t)))
    const editorOf = (type: string): PreparedTool =>
      createTextEditorTool(texts).prepare({ ...requested('text_editor'), type }, REQUEST) as PreparedTool
    t.equal(editorOf('text_editor_20250124').functions[0]!.name, 'str_replace_editor')
    const editor = editorOf('text_editor_20250728')
    t.equal(editor.functions[0]!.name, 'str_replace_based_edit_tool')
    const run = async (tool: PreparedTool, args: JsonObject): Promise<string> => {
      const call = { id: 'c', function: tool.functions[0]!.name, arguments: args }
      return outputOf(await tool.run(call, toolRun({ caller: callerOf(1) })))
    }
    t.equal(
      await run(editor, { command: 'create', path: '/src/a.py', file_text: 'x = 1' }),
      'Created /src/a.py',
    )
    t.match(await run(editor, { command: 'delete', path: '/src/a.py' }), /command must be one of/)
    const memory = await prepared(createMemoryTool(texts) as ServerTool)
    await run(memory, { command: 'create', path: 'm', file_text: 'kept' })
    t.match(await run(memory, { command: 'view', path: '/src' }), /\/memories\/src does not exist/)
    t.match(await run(editor, { command: 'view', path: '/' }), /\/memories\/m\n.*\/src\/\n.*\/src\/a\.py$/)
  })
}

function long(declare: Declare): void {
  declare('a long text is shown in parts', async (t, kind) => {
    const { ask } = await memoryOf(t, kind)
    await ask({ command: 'create', path: 'long', file_text: `${'word '.repeat(12_000)}\nlast` })
    const whole = outputOf(await ask({ command: 'view', path: 'long' }))
    t.ok(whole.length < 51_000 && whole.endsWith('use view_range]'))
    t.match(outputOf(await ask({ command: 'view', path: 'long', view_range: [2, 2] })), /2\tlast$/)
    const args = { command: 'str_replace', path: 'long', old_str: 'last', new_str: 'end' }
    t.ok(outputOf(await ask(args)).length < 51_000, 'and so are the lines around a change')
  })
}

function histories(declare: Declare): void {
  declare('any commands leave what a model of the memory leaves', async (t, kind) => {
    const name = fc.constantFrom('a', 'b', 'a.b', '_-')
    const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((parts) => parts.join('/'))
    const command = fc.record({
      command: fc.constantFrom<Command['command']>(
        'create',
        'create',
        'delete',
        'rename',
        'insert',
        'str_replace',
      ),
      path,
      to: path,
      text: fc.constantFrom('', 'a', 'ba', 'b\nc', 'é$&'),
    })
    const store = kind.open(t, await kind.place(t))
    const texts = workspaceTexts(store)
    const tool = createMemoryTool(texts)
    let workspace = 0
    await fc.assert(
      fc.asyncProperty(fc.array(command, { maxLength: 25 }), async (commands) => {
        const caller = callerOf(++workspace)
        const model = new MemoryModel()
        for (const each of commands) {
          model.apply(each)
          const { path, to, text } = each
          const args = {
            ...{ command: each.command, path, file_text: text, old_str: 'a', new_str: text },
            ...{ insert_line: 0, insert_text: text, old_path: path, new_path: to },
          }
          await askTool(tool, {}, args, { caller })
        }
        const kept = await texts.read(caller, (own) =>
          own.list().map(({ key, bytes }) => [key, own.get(key), bytes] as const),
        )
        const expected = [...model.texts].map(
          ([key, text]) => [`memories/${key}`, text, Buffer.byteLength(text)] as const,
        )
        t.same(
          kept,
          expected.sort(([one], [other]) => Buffer.compare(Buffer.from(one), Buffer.from(other))),
        )
      }),
      { numRuns: 80 },
    )
  })
}

function paths(declare: Declare): void {
  declare('any path is a place under the memory or refused, and never a fault', async (t, kind) => {
    const { tool } = await memoryOf(t, kind)
    const store = kind.open(t, await kind.place(t))
    const texts = workspaceTexts(store)
    const own = createMemoryTool(texts)
    const odd = fc.oneof(
      fc.string(),
      fc.string({ unit: 'binary' }),
      fc.constantFrom('/memories/../x', '..', '/memories/..', 'memories', '//', '/memories//', '.', 'a/..'),
    )
    await fc.assert(
      fc.asyncProperty(odd, async (path) => {
        const outcome = await askTool(
          own,
          {},
          { command: 'create', path, file_text: 'x' },
          { caller: callerOf(1) },
        )
        t.type(outputOf(outcome), 'string')
      }),
    )
    const keys = await texts.read(callerOf(1), (all) => all.list().map(({ key }) => key))
    for (const key of keys) t.match(key, /^memories\/[\w./-]{1,247}$/)
    t.notOk(keys.some((key) => key.split('/').includes('..')))
    t.equal(tool.name, 'memory')
  })
}
