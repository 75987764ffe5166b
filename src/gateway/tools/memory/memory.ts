/**
 * What a model keeps between conversations, and the text editor of the messages format, which works on the same texts
 * (contract/tools 3.11).
 */
import type { MaybePromise } from '../../../base/maybe-promise.js'
import type { Principal } from '../../../base/principal.js'
import type { JsonObject } from '../../formats/json-values.js'
import type { PreparedTool, ServerTool, ToolFunction, ToolOutcome } from '../port/tool.js'
import { type CommandName, type EditableTexts, isReading, runCommand, type TextRoot } from './commands.js'

/** The texts of a caller's workspace; each `work` is one transaction. */
export interface WorkspaceTexts {
  read<T>(caller: Principal, work: (texts: EditableTexts) => T): MaybePromise<T>
  /** Resolves when it is on the disk. */
  change<T>(caller: Principal, work: (texts: EditableTexts) => T): Promise<T>
}

const DEFAULT_SHOWN = 50_000

const EDITING: readonly CommandName[] = ['view', 'create', 'str_replace', 'insert']
/** Only a memory can be tidied up. */
const KEEPING: readonly CommandName[] = [...EDITING, 'delete', 'rename']

export function createMemoryTool(texts: WorkspaceTexts): ServerTool {
  const root: TextRoot = {
    prefix: 'memories/',
    path: '/memories',
    commands: KEEPING,
    mostShown: DEFAULT_SHOWN,
  }
  const description =
    'Texts that last beyond this conversation, as files under /memories. View /memories before you begin, and keep there what will be needed again.'
  return {
    name: 'memory',
    prepare: () => toolOver(texts, { name: 'memory', description }, root),
  }
}

/** The kinds of the messages format that were made for earlier models have an earlier name. */
const EARLIER_EDITORS = /_(20241022|20250124)$/

export function createTextEditorTool(texts: WorkspaceTexts): ServerTool {
  return {
    name: 'text_editor',
    prepare({ type, parameters: { max_characters: most } }) {
      const mostShown = typeof most === 'number' && most > 0 ? Math.min(most, DEFAULT_SHOWN) : DEFAULT_SHOWN
      const name = EARLIER_EDITORS.test(type) ? 'str_replace_editor' : 'str_replace_based_edit_tool'
      const description = 'Views and changes text files of the workspace; paths begin with "/".'
      return toolOver(texts, { name, description }, { prefix: '', path: '/', commands: EDITING, mostShown })
    },
  }
}

function toolOver(
  texts: WorkspaceTexts,
  shown: Omit<ToolFunction, 'parameters'>,
  root: TextRoot,
): PreparedTool {
  return {
    functions: [{ ...shown, parameters: parametersFor(root.commands) }],
    backend: 'workspace',
    fee: () => 0,
    run: async ({ arguments: args }, { caller }) => {
      const work = (own: EditableTexts) => runCommand(own, args, root)
      try {
        const result = await (isReading(args) ? texts.read(caller, work) : texts.change(caller, work))
        // Who names no command has asked nothing of the workspace.
        const executed = root.commands.some((name) => name === args.command)
        return { ...outcome(result, 'error' in result), executed }
      } catch {
        return outcome({ error: 'what is kept cannot be reached at the moment' }, true)
      }
    },
  }
}

function outcome(content: unknown, isError: boolean): ToolOutcome {
  return { content, isError, executed: true, charged: 0 }
}

const text = (description: string): JsonObject => ({ type: 'string', description })

/** As models know them. */
function parametersFor(commands: readonly CommandName[]): JsonObject {
  return {
    type: 'object',
    properties: {
      command: { type: 'string', enum: [...commands] },
      path: text('The file, or the folder to view.'),
      view_range: {
        type: 'array',
        items: { type: 'integer' },
        description: 'Of view: first and last line; -1 is the last one of the file.',
      },
      file_text: text('Of create: what the new file holds.'),
      old_str: text('Of str_replace: what stands there once, to the letter.'),
      new_str: text('Of str_replace: what is to stand there instead.'),
      insert_line: {
        type: 'integer',
        description: 'Of insert: the line after which to insert; 0 is the beginning.',
      },
      insert_text: text('Of insert: what to insert.'),
      ...(commands.includes('rename') && { old_path: text('Of rename.'), new_path: text('Of rename.') }),
    },
    required: ['command'],
  }
}
