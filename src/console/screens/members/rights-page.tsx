/** What a role may do: the operations of the API with what each asks for, as its own document says. */
import { useResource } from '../../api/resource.ts'
import { Select } from '../../kit/fields.tsx'
import { Field } from '../../kit/form.tsx'
import { Empty } from '../../kit/note.tsx'
import { Page, ProblemNote } from '../../kit/page.tsx'
import { type Column, Table } from '../../kit/table.tsx'
import { State } from '../../kit/values.tsx'
import { place, setQuery, to } from '../../shell/location.ts'

interface Access {
  readonly level: string
  readonly callers: readonly string[]
}

interface Operation {
  readonly summary?: string
  readonly 'x-access'?: Access
}

interface ApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

interface Right extends Access {
  readonly method: string
  readonly path: string
  readonly summary: string
}

const CALLERS = [
  ['member', 'A member'],
  ['admin', 'An admin'],
  ['management', 'A management key'],
  ['operator', 'The operator'],
] as const

type Caller = (typeof CALLERS)[number][0]

const COLUMNS: readonly Column<Right>[] = [
  {
    title: 'Operation',
    cell: ({ method, path, summary }) => (
      <span class="two-lines">
        {summary}
        <code class="soft">
          {method} {path}
        </code>
      </span>
    ),
  },
  ...CALLERS.map(
    ([caller, title]): Column<Right> => ({
      title,
      from: 'medium',
      cell: ({ callers }) =>
        callers.includes(caller) ? <State is="good">may</State> : <span class="soft">no</span>,
    }),
  ),
  { title: 'Asks for', cell: ({ level }) => <code>{level}</code> },
]

export function RightsPage() {
  const { data, problem, reload } = useResource<ApiDocument>('api/v1/openapi.json')
  const { query } = place.value
  const who = query.get('who') ?? ''
  const wanted = (query.get('q') ?? '').toLowerCase()
  const rows =
    data &&
    rightsOf(data).filter(
      ({ callers, path, summary }) =>
        (who === '' || callers.includes(who as Caller)) &&
        `${path} ${summary}`.toLowerCase().includes(wanted),
    )
  return (
    <Page
      title="What a role may do"
      up={{ href: to('members'), title: 'Members' }}
      lead="Members reach what is their own in the workspaces of their roles, admins all that is in them. Every operation with what it asks for:"
    >
      <div class="filters">
        <Select
          label="Open to"
          value={who}
          options={[['', 'Anybody'], ...CALLERS]}
          onChange={(event) => setQuery({ who: event.currentTarget.value })}
        />
        <Field
          label="Find"
          type="search"
          isOptional
          defaultValue={query.get('q') ?? ''}
          onInput={(event) => setQuery({ q: event.currentTarget.value })}
        />
      </div>
      <ProblemNote problem={problem} retry={reload} />
      {(data || !problem) && (
        <Table
          caption="Operations"
          columns={COLUMNS}
          rows={rows}
          keyOf={({ method, path }) => `${method} ${path}`}
          empty={<Empty title="No operation is like that">Other filters show more.</Empty>}
        />
      )}
    </Page>
  )
}

function rightsOf({ paths }: ApiDocument): Right[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { summary = '', 'x-access': access }]) =>
      access === undefined ? [] : [{ method: method.toUpperCase(), path, summary, ...open(access) }],
    ),
  )
}

/** What is open without a credential is open to everybody with one. */
function open({ level, callers }: Access): Access {
  return { level, callers: level === 'anyone' ? CALLERS.map(([caller]) => caller) : callers }
}
