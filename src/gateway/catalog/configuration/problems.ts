/** Violations of a schema as places in the file and sentences. Values never appear in them. */
import type { z } from 'zod'

/** What is wrong, and where: a path such as `models.acme/large.endpoints[0].provider`. */
export interface GatewayConfigFault {
  readonly path: string
  readonly problem: string
}

/** `a.b[0].c`. */
export function formatConfigPath(parts: readonly PropertyKey[]): string {
  const texts = parts.map((part, at) => {
    if (typeof part === 'number') return `[${part}]`
    return `${at > 0 ? '.' : ''}${String(part)}`
  })
  return texts.join('')
}

/** Every violation. The error must have been made with `schemaIssueMessage`. */
export function describeSchemaIssues(error: z.ZodError): GatewayConfigFault[] {
  return error.issues.flatMap((issue) => {
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) => ({
        path: formatConfigPath([...issue.path, key]),
        problem: 'there is no such setting',
      }))
    }
    const [inner] = issue.code === 'invalid_key' ? issue.issues : []
    return [{ path: formatConfigPath(issue.path), problem: inner?.message ?? issue.message }]
  })
}

/** What a schema without a sentence of its own says. Handed to zod's parse as `error`. */
export function schemaIssueMessage(issue: z.core.$ZodRawIssue): string {
  if (issue.input === undefined) return 'is required'
  switch (issue.code) {
    case 'invalid_type':
      return TYPE_MESSAGES[issue.expected] ?? 'has the wrong type'
    case 'invalid_value':
      return `must be one of ${issue.values.join(', ')}`
    case 'too_small':
      return `must be ${issue.inclusive === false ? 'more than' : 'at least'} ${issue.minimum}`
    case 'too_big':
      return `must be ${issue.inclusive === false ? 'less than' : 'at most'} ${issue.maximum}`
    case 'invalid_union':
      return 'has none of the forms that are allowed here'
    default:
      return 'is not valid'
  }
}

const TYPE_MESSAGES: Readonly<Record<string, string>> = {
  string: 'must be text',
  number: 'must be a number',
  int: 'must be an integer',
  object: 'must be an object',
  record: 'must be an object',
  array: 'must be a list',
  boolean: 'must be true or false',
}
