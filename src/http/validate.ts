import type { z } from 'zod'
import { ValidationIssue, type ValidationRule } from '../base/fault.js'
import { noteOf, type RuleParams } from './fields.js'

const TYPE_RULES: Readonly<Record<string, ValidationRule>> = {
  string: 'string',
  number: 'number',
  int: 'integer',
  boolean: 'boolean',
  object: 'object',
  record: 'object',
  array: 'array',
}

/** All violations of a schema, as issues under `root`. `issues` must have been made with `reportInput`. */
function issuesOf(root: string, issues: readonly z.core.$ZodIssue[]): ValidationIssue[] {
  return issues.map((issue) => {
    const loc = [root, ...issue.path.map((part) => (typeof part === 'symbol' ? String(part) : part))]
    // JSON has no undefined: a value that is undefined was not there.
    if (issue.input === undefined) return new ValidationIssue(loc, 'missing')
    if (issue.code === 'custom' && isRuleParams(issue.params))
      return new ValidationIssue(
        loc,
        issue.params.rule,
        issue.params.bound,
        noteOf(issue.params, issue.input),
      )
    if (issue.code === 'invalid_type') return new ValidationIssue(loc, TYPE_RULES[issue.expected] ?? 'other')
    return new ValidationIssue(loc, 'other', undefined, issue.message)
  })
}

function isRuleParams(params: unknown): params is RuleParams {
  return typeof params === 'object' && params !== null && 'rule' in params
}

/** The schema's value; what the input breaks is added to `issues`. */
export function readBySchema(schema: z.ZodType, input: unknown, issues: ValidationIssue[]): unknown {
  const result = schema.safeParse(input, { reportInput: true })
  if (result.success) return result.data
  issues.push(...issuesOf('body', result.error.issues))
  return undefined
}
