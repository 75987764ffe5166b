import { Fault, ValidationIssue } from '../../base/fault.js'

/** What is wrong with a multipart body. `field` is the name of a part where one is to blame, and a known one. */
export function multipartFault(note: string, field?: string): Fault {
  const loc = field === undefined ? ['body'] : ['body', field]
  return new Fault('invalid-input', { issues: [new ValidationIssue(loc, 'other', undefined, note)] })
}
