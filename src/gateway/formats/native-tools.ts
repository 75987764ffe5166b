/**
 * Tools under the names that the third-party messages format has for them, with a date (contract/gateway 5.2;
 * contract/tools 3.12). Some of them the server of that format runs; others its caller runs, and the format fixes what
 * they are called with.
 */
import type { JsonObject } from './json-values.js'

/** Tools that a server of the format runs, and what runs them here. */
const SERVER_RUN: readonly (readonly [type: RegExp, name: string])[] = [
  [/^web_search_\d{8}$/, 'web_search'],
  [/^web_fetch_\d{8}$/, 'web_fetch'],
  [/^code_execution_\d{8}$/, 'bash'],
  [/^advisor_\d{8}$/, 'advisor'],
  [/^tool_search_tool_(?:regex|bm25)(?:_\d{8})?$/, 'tool_search'],
]

/** Tools that the caller runs, unless it asks that they be run here. */
const CALLER_RUN: readonly (readonly [type: RegExp, name: string])[] = [
  [/^bash_\d{8}$/, 'bash'],
  [/^text_editor_\d{8}$/, 'text_editor'],
  [/^memory_\d{8}$/, 'memory'],
]

/** The neutral name of a tool that a server of the messages format runs; null for a type that is none. */
export function nativeToolName(type: string | null | undefined): string | null {
  return nameAmong(SERVER_RUN, type)
}

/** The neutral name of a tool whose arguments the format fixes and whose caller runs it; null for any other type. */
export function callerToolName(type: string | null | undefined): string | null {
  return nameAmong(CALLER_RUN, type)
}

function nameAmong(table: typeof SERVER_RUN, type: string | null | undefined): string | null {
  if (type === null || type === undefined) return null
  return table.find(([known]) => known.test(type))?.[1] ?? null
}

// ── What a caller's tools are called with ─────────────────────────────────────

const text = { type: 'string' }
const integer = { type: 'integer' }
const lines = { type: 'array', items: integer, minItems: 2, maxItems: 2 }

function objectOf(properties: JsonObject, ...required: readonly string[]): JsonObject {
  return { type: 'object', properties, required }
}

const EDITOR = {
  path: text,
  file_text: text,
  old_str: text,
  new_str: text,
  insert_line: integer,
  insert_text: text,
  view_range: lines,
}

/** As a model that does not know the names is told of them. */
const CALLER_TOOLS: Readonly<
  Record<string, { readonly description: string; readonly parameters: JsonObject }>
> = {
  bash: {
    description: 'Runs a command in a bash session that goes on between calls. `restart` begins it anew.',
    parameters: objectOf({ command: text, restart: { type: 'boolean' } }),
  },
  text_editor: {
    description:
      'Views and edits text files. `view` shows a file with line numbers, or a directory; `create` writes `file_text`; ' +
      '`str_replace` replaces `old_str`, which must occur exactly once, by `new_str`; `insert` puts `insert_text` ' +
      'behind line `insert_line`.',
    parameters: objectOf(
      {
        command: { type: 'string', enum: ['view', 'create', 'str_replace', 'insert'] },
        ...EDITOR,
      },
      'command',
      'path',
    ),
  },
  memory: {
    description:
      'Keeps notes between conversations as files below /memories. `view` shows a file or a directory; `create` ' +
      'writes `file_text`; `str_replace` and `insert` edit; `delete` and `rename` (`old_path`, `new_path`) tidy up.',
    parameters: objectOf(
      {
        command: {
          type: 'string',
          enum: ['view', 'create', 'str_replace', 'insert', 'delete', 'rename'],
        },
        ...EDITOR,
        old_path: text,
        new_path: text,
      },
      'command',
    ),
  },
}

/** What a model is told of a caller's tool whose arguments the format fixes; null for a type that is none. */
export function callerToolFunction(
  type: string | null | undefined,
): { readonly description: string; readonly parameters: JsonObject } | null {
  return CALLER_TOOLS[callerToolName(type) ?? ''] ?? null
}
