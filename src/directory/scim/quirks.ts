/** Where directories differ from RFC 7643 and 7644, or from each other, and what is done about it (contract/directory 3). */

interface Quirk {
  /** Whose requests have it, as far as is publicly known. */
  readonly sentBy: string
  readonly done: string
}

/** Every leniency there is. Nothing else that breaks the RFCs is taken. */
export const QUIRKS = {
  'boolean-as-text': {
    sentBy: 'Entra without the flag aadOptscim062020',
    done: '"True" and "false" are read as booleans where the schema has one',
  },
  'capitalized-op': {
    sentBy: 'Entra',
    done: '"Add", "Replace" and "Remove" are read as add, replace and remove',
  },
  'colon-key': {
    sentBy: 'Entra with the flag aadOptscim062020',
    done: 'a key such as urn:…:2.0:User:department in a value names the attribute of the extension',
  },
  'colon-path': {
    sentBy: 'Entra',
    done: 'urn:…:2.0:User:department names the attribute of the schema; RFC 7644 3.10 has it, many servers do not',
  },
  'dot-after-urn': {
    sentBy: "Microsoft's collection of tests",
    done: 'urn:…:2.0:User.manager names the attribute of the schema',
  },
  'dotted-key': { sentBy: 'Entra', done: 'a key such as name.givenName in a value names the sub-attribute' },
  'empty-operations': {
    sentBy: "Microsoft's validator",
    done: 'a PATCH without an operation changes nothing',
  },
  'list-for-single': {
    sentBy: 'Entra, old jobs',
    done: '[{"value": x}] is read as x where an attribute has one value',
  },
  'long-fraction': {
    sentBy: 'Entra',
    done: 'times in filters may have more than three digits of a second, and are compared to the last one',
  },
  'lower-case-endpoint': { sentBy: "Microsoft's collection of tests", done: '/users and /groups are served' },
  'manager-as-text': { sentBy: 'Entra', done: 'a manager that is a text is the id of one' },
  'member-display-name': {
    sentBy: "Microsoft's collection of tests",
    done: "a member's displayName is read as its display, and shown again",
  },
  'name-in-another-case': {
    sentBy: 'Entra',
    done: 'names of attributes and schemas are found without regard to case, and shown as the schema writes them',
  },
  'number-for-text': {
    sentBy: 'generic clients',
    done: 'a number is read as text where the schema has a text',
  },
  'pathless-patch': {
    sentBy: 'Okta, OneLogin',
    done: 'an operation without path sets what its value names; RFC 7644 3.5.2 has it, Entra never sends it to servers it knows',
  },
  'put-without-active': {
    sentBy: 'Okta, JumpCloud',
    done: 'a PUT that does not say `active` leaves it as it is',
  },
  'remove-with-value': {
    sentBy: 'Entra, OneLogin',
    done: 'remove with a path and a value removes only the values that are given',
  },
  'schemas-omitted': {
    sentBy: 'generic clients',
    done: 'a body without its schema in `schemas` is taken for what it was sent to',
  },
  'service-configuration': {
    sentBy: 'older clients',
    done: '/serviceConfiguration answers as /ServiceProviderConfig',
  },
  'single-for-list': {
    sentBy: 'generic clients',
    done: 'one value where the schema has a list is a list of one',
  },
  'trailing-slash': {
    sentBy: "Microsoft's collection of tests",
    done: 'a slash at the end of a path is left out',
  },
  'unknown-member': {
    sentBy: 'Entra',
    done: 'a group may name a member that is not there; it waits, and gives no role',
  },
  'unknown-path': {
    sentBy: 'Entra, Okta',
    done: 'an operation on an attribute that no schema here has changes nothing',
  },
  'unquoted-word': {
    sentBy: "Microsoft's collection of tests",
    done: 'a word or time in a filter may stand without quotes',
  },
  'value-path-creates': {
    sentBy: 'Entra',
    done: 'add or replace at emails[type eq "work"] adds that value when there is none, where the filter says what it would be',
  },
  'value-path-goes-on': {
    sentBy: 'Entra, where mail addresses are matched',
    done: 'emails[type eq "work"].value eq "x" in a filter is read as emails[type eq "work" and value eq "x"]',
  },
  'value-path-in-attributes': {
    sentBy: "Microsoft's collection of tests",
    done: 'a filter within `attributes` is left out: the whole attribute is shown',
  },
  'value-path-key': {
    sentBy: 'Entra',
    done: 'a key such as emails[type eq "work"].value in a value is read as a path',
  },
  'values-as-text': {
    sentBy: "Microsoft's collection of tests",
    done: 'texts in a list of members, emails and the like are read as their `value`',
  },
} as const satisfies Record<string, Quirk>

export type QuirkName = keyof typeof QUIRKS

/** The leniencies that one request used; whoever reads the request adds to it. */
export type Quirks = Set<QuirkName>
