/** Bodies of SCIM requests, and the schemas they name. */

export const USER = 'urn:ietf:params:scim:schemas:core:2.0:User'
export const ENTERPRISE = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User'
export const GROUP = 'urn:ietf:params:scim:schemas:core:2.0:Group'

/** The body of a POST or PUT of a user. */
export function userBody(fields: object): object {
  return { schemas: [USER], ...fields }
}

/** The body of a POST or PUT of a group. */
export function groupBody(fields: object): object {
  return { schemas: [GROUP], ...fields }
}

/** The body of a PATCH. */
export function patchBody(...operations: readonly object[]): object {
  return { schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'], Operations: operations }
}
