/** The table of operations in docs/guide/permissions.md, from the OpenAPI document. */
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { serviceDocument } from '../../../src/app.js'

/** The member `x-access` of an operation. */
export interface OperationAccess {
  readonly level: string
  readonly callers: readonly string[]
  readonly sessions: readonly string[]
  readonly configurable: boolean
}

const PAGE = fileURLToPath(new URL('../../../../docs/guide/permissions.md', import.meta.url))
const HEADING = '## Operations\n'
const TABLE = /\| Operation \|[\s\S]*$/

interface DocumentedOperation {
  readonly operationId: string
  readonly 'x-access': OperationAccess
}

function sessionNote({ sessions }: OperationAccess): string {
  return sessions.length === 0
    ? ''
    : sessions.some((each) => each === 'member' || each === 'admin')
      ? 'session'
      : 'session of management'
}

function rows(): string[] {
  const { paths } = serviceDocument('open') as {
    paths: Record<string, Record<string, DocumentedOperation>>
  }
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId, 'x-access': access }]) => {
      const notes = [sessionNote(access), !access.configurable && 'fixed'].filter(Boolean).join(', ')
      return `| \`${operationId}\` | \`${method.toUpperCase()} ${path}\` | \`${access.level}\` | ${notes} |`
    }),
  )
}

/** The table as it ought to be. */
export function accessTable(): string {
  return ['| Operation | Call | Level | |', '| - | - | - | - |', ...rows(), ''].join('\n')
}

/** The table as the page has it; empty when it has none. */
export function tableOfPage(): string {
  const page = readFileSync(PAGE, 'utf8')
  return TABLE.exec(page.slice(page.indexOf(HEADING)))?.[0] ?? ''
}

export function writeTable(): void {
  const page = readFileSync(PAGE, 'utf8').replace(TABLE, '').trimEnd()
  writeFileSync(PAGE, `${page}\n\n${accessTable()}`)
}
