/** Workload identity: whom the organization trusts, what tokens may act as, and why one is refused. */
import { call } from '../../api/call.ts'
import { usePages, useResource } from '../../api/resource.ts'
import { Confirm } from '../../kit/dialogs.tsx'
import { Icon } from '../../kit/icon.tsx'
import { Empty } from '../../kit/note.tsx'
import { Page } from '../../kit/page.tsx'
import { type Column, PagedTable } from '../../kit/table.tsx'
import { Time } from '../../kit/values.tsx'
import { place, setQuery, to } from '../../shell/location.ts'
import { tell } from '../../shell/toasts.tsx'
import { AuditList } from '../audit/audit-list.tsx'
import { postCommand } from '../command.ts'
import { KEYS } from '../keys/wire.ts'
import type { ScreenProps } from '../screen.ts'
import { CheckIssuer } from './check-issuer.tsx'
import { IssuerForm } from './create-issuer.tsx'
import { CreatePolicy } from './policy-form.tsx'
import { PolicyPage } from './policy-page.tsx'
import { PolicyState } from './policy-state.tsx'
import { ISSUERS, type Issuer, issuerPath, POLICIES, type Policy, type TargetKey } from './wire.ts'

export function Screen({ id }: ScreenProps) {
  return id === null ? <Overview /> : <PolicyPage id={id} />
}

function Overview() {
  const { query } = place.value
  const issuers = usePages<Issuer>(ISSUERS)
  const policies = usePages<Policy>(POLICIES)
  const view = query.get('view') ?? 'policies'
  const keys = useResource<{ data: readonly TargetKey[] }>(`${KEYS}?include_disabled=true`)
  const nameOf = (id: string): string => issuers.rows?.find((each) => each.id === id)?.name ?? 'deleted'
  const keyOf = (hash: string): string =>
    keys.data?.data.find((each) => each.hash === hash)?.name ?? hash.slice(0, 8)
  const named = (what: string) => issuers.rows?.find(({ id }) => id === query.get(what))
  const [changed, doomed, checked] = [named('change'), named('delete'), named('check')]
  const close = (): void => setQuery({ new: null, change: null, delete: null, check: null, issuer: null })
  return (
    <Page
      title="Workload identity"
      lead="Programs exchange a token of their own platform for an access token, and need no key. An issuer says whose tokens are trusted, a policy which of them may act as which key."
      actions={
        <>
          <button type="button" onClick={() => setQuery({ new: 'issuer' })}>
            <Icon name="plus" /> Trust an issuer
          </button>
          <button type="button" class="primary" onClick={() => setQuery({ new: 'policy' })}>
            <Icon name="plus" /> Create a policy
          </button>
        </>
      }
    >
      <nav class="parts" aria-label="Parts of workload identity">
        {VIEWS.map(([name, title]) => (
          <a
            key={name}
            href={to('workload-identity', null, { view: name })}
            aria-current={view === name ? 'page' : undefined}
          >
            {title}
          </a>
        ))}
      </nav>
      {view === 'policies' && (
        <PagedTable
          caption="Policies"
          columns={policyColumns(nameOf, keyOf)}
          // A name that came behind its row would move the row's cells.
          pages={
            (issuers.rows || issuers.problem) && (keys.data || keys.problem)
              ? policies
              : { ...policies, rows: undefined }
          }
          keyOf={({ id }) => id}
          empty={
            <Empty title="No policies yet">
              <a href={to('workload-identity', null, { new: 'issuer' })}>Trust an issuer</a> first, then say
              what its tokens may act as. Recipes for GitHub Actions, GitLab, Kubernetes and the clouds fill
              in the rest.
            </Empty>
          }
        />
      )}
      {view === 'issuers' && (
        <PagedTable
          caption="Issuers"
          columns={ISSUER_COLUMNS}
          pages={issuers}
          keyOf={({ id }) => id}
          empty={
            <Empty
              title="No issuers yet"
              command={postCommand('federation/issuers', {
                name: 'GitHub Actions',
                issuer_url: 'https://token.actions.githubusercontent.com',
              })}
            >
              Begin with the platform that your programs run on:{' '}
              <a href={to('workload-identity', null, { view: 'issuers', new: 'issuer' })}>trust its issuer</a>
              .
            </Empty>
          }
        />
      )}
      {view === 'audit' && <AuditList trail="" />}
      {(query.get('new') === 'issuer' || changed) && (
        <IssuerForm
          of={changed}
          close={close}
          done={(id) => {
            issuers.reload()
            setQuery({ new: null, change: null, view: 'issuers', check: id })
          }}
        />
      )}
      {query.get('new') === 'policy' && <CreatePolicy issuers={issuers.rows} close={close} />}
      {checked && (
        <CheckIssuer
          key={checked.id}
          of={checked}
          close={close}
          next={() => setQuery({ check: null, new: 'policy', issuer: checked.id })}
        />
      )}
      {doomed && (
        <Confirm
          title={`Trust ${doomed.name} no longer?`}
          submit="Delete the issuer"
          send={() => call('DELETE', issuerPath(doomed.id))}
          done={() => {
            tell(`${doomed.name} is deleted`)
            close()
            issuers.reload()
          }}
          close={close}
        >
          Its policies refuse from then on, and do not come back with another issuer of the same URL.
        </Confirm>
      )}
    </Page>
  )
}

const VIEWS = [
  ['policies', 'Policies'],
  ['issuers', 'Issuers'],
  ['audit', 'Audit'],
] as const

const policyColumns = (
  nameOf: (id: string) => string,
  keyOf: (hash: string) => string,
): readonly Column<Policy>[] => [
  {
    title: 'Tokens',
    cell: ({ id, subject, condition }) => (
      <a class="two-lines" href={to('workload-identity', id)}>
        {subject ?? 'any subject'}
        {condition !== null && <code class="soft">{condition}</code>}
      </a>
    ),
  },
  { title: 'State', cell: (policy) => <PolicyState of={policy} /> },
  { title: 'Issuer', from: 'medium', cell: ({ issuer_id }) => nameOf(issuer_id) },
  { title: 'Audience', from: 'medium', cell: ({ audience }) => audience },
  {
    title: 'Acts as',
    from: 'wide',
    cell: ({ api_key_hash: hash }) => <a href={to('keys', hash)}>{keyOf(hash)}</a>,
  },
]

const ISSUER_COLUMNS: readonly Column<Issuer>[] = [
  {
    title: 'Name',
    cell: ({ name, issuer_url }) => (
      <span class="two-lines">
        {name}
        <code class="soft">{issuer_url}</code>
      </span>
    ),
  },
  { title: 'Keys', from: 'medium', cell: ({ jwks_url }) => jwks_url ?? 'by discovery' },
  { title: 'Trusted since', from: 'wide', cell: ({ created_at }) => <Time at={created_at} dayOnly /> },
  {
    title: 'Actions',
    align: 'end',
    cell: ({ id, name }) => (
      <span class="row-actions">
        <button
          type="button"
          aria-label={`Check the keys of ${name}`}
          onClick={() => setQuery({ check: id })}
        >
          Check
        </button>
        <button type="button" aria-label={`Change ${name}`} onClick={() => setQuery({ change: id })}>
          Change
        </button>
        <button type="button" aria-label={`Delete ${name}`} onClick={() => setQuery({ delete: id })}>
          Delete
        </button>
      </span>
    ),
  },
]
