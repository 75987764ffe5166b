import type { z } from 'zod'

/** Something the caller of the control listener has to hear: a status and a sentence, and the field it is about. */
export class LabRequestError extends Error {
  readonly status: number
  readonly field: string | undefined

  constructor(status: number, message: string, field?: string) {
    super(message)
    this.status = status
    this.field = field
  }
}

/** Reads a value with a schema. Throws a 400 that names the first field that is wrong. */
export function validateInput<T>(schema: z.ZodType<T>, value: unknown): T {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const [issue] = result.error.issues
  const unknown = issue?.code === 'unrecognized_keys' ? issue.keys : []
  const field = [...(issue?.path ?? []), ...unknown.slice(0, 1)].map(String).join('.')
  const what = unknown.length > 0 ? 'there is no such field' : (issue?.message ?? 'is not valid')
  throw new LabRequestError(400, field === '' ? what : `${field}: ${what}`, field)
}
