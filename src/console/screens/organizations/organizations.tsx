/** Organizations of the machine: the list, and the page of one. */
import { useState } from 'preact/hooks'
import { call } from '../../api/call.ts'
import { useResource } from '../../api/resource.ts'
import { Dialog } from '../../kit/dialog.tsx'
import { ShownOnce } from '../../kit/dialogs.tsx'
import { Select } from '../../kit/fields.tsx'
import { Field, Form } from '../../kit/form.tsx'
import { Icon } from '../../kit/icon.tsx'
import { Facts, Page, ProblemNote, Section } from '../../kit/page.tsx'
import { type Column, Table } from '../../kit/table.tsx'
import { Id, Money, Time } from '../../kit/values.tsx'
import { place, setQuery, to } from '../../shell/location.ts'
import { loadSession } from '../../shell/session.ts'
import { tell } from '../../shell/toasts.tsx'
import type { ScreenProps } from '../screen.ts'
import { ORGANIZATIONS, type Organization, organizationIn, organizationPath } from './wire.ts'

export function Screen({ id }: ScreenProps) {
  return id === null ? <OrganizationList /> : <OrganizationPage id={id} />
}

const COLUMNS: readonly Column<Organization>[] = [
  { title: 'Name', cell: ({ id, name }) => <a href={to('organizations', id)}>{name}</a> },
  { title: 'Plan', cell: ({ plan }) => plan },
  { title: 'Credits left', align: 'end', cell: (of) => <Credits dollars={of.credits_left} /> },
  { title: 'Id', from: 'medium', cell: ({ id }) => <Id id={id} /> },
  { title: 'Created', from: 'wide', cell: ({ created_at }) => <Time at={created_at} dayOnly /> },
]

function OrganizationList() {
  const { data, problem, reload } = useResource<{ data: readonly Organization[] }>(ORGANIZATIONS)
  return (
    <Page
      title="Organizations"
      lead="Who shares this machine. Each has its own keys, members and money, and sees nothing of the others."
      actions={
        <button type="button" class="primary" onClick={() => setQuery({ new: 'organization' })}>
          <Icon name="plus" /> Create an organization
        </button>
      }
    >
      <ProblemNote problem={problem} retry={reload} />
      {(data || !problem) && (
        <Table
          caption="Organizations"
          columns={COLUMNS}
          rows={data?.data}
          keyOf={({ id }) => id}
          empty={null}
        />
      )}
      {place.value.query.get('new') === 'organization' && (
        <CreateOrganization close={() => setQuery({ new: null })} created={reload} />
      )}
    </Page>
  )
}

function Credits({ dollars }: { dollars: number | null }) {
  return dollars === null ? <span class="soft">no end</span> : <Money dollars={dollars} />
}

/** The plans as the API names them. */
const PLANS = ['free', 'team', 'business', 'enterprise'].map((plan) => [plan, plan] as const)

function OrganizationFields({ of }: { of?: Organization }) {
  return (
    <div class="fields">
      <Field label="Name" name="name" maxLength={256} defaultValue={of?.name ?? ''} autofocus={!of} />
      <Select label="Plan" name="plan" value={of?.plan ?? 'free'} options={PLANS} />
      <Field
        label="Credits"
        name="credits"
        type="number"
        min="0"
        step="any"
        unit="$"
        isOptional
        hint="What its calls may cost in all; empty for no end."
        defaultValue={of?.credits ?? ''}
      />
    </div>
  )
}

interface CreatedOrganization {
  readonly data: Organization
  readonly key: string
}

function CreateOrganization({ close, created }: { close: () => void; created: () => void }) {
  const [made, setMade] = useState<CreatedOrganization | null>(null)
  if (made !== null) {
    return (
      <ShownOnce title={`The management key of ${made.data.name}`} secret={made.key} close={close}>
        Copy it now and give it to who manages the organization.
      </ShownOnce>
    )
  }
  return (
    <Dialog title="Create an organization" close={close}>
      <Form
        submit="Create"
        cancel={close}
        send={(fields) => call<CreatedOrganization>('POST', ORGANIZATIONS, { body: organizationIn(fields) })}
        done={(answer) => {
          setMade(answer)
          created()
        }}
      >
        <OrganizationFields />
      </Form>
    </Dialog>
  )
}

const UP = { href: to('organizations'), title: 'Organizations' }

function OrganizationPage({ id }: { id: string }) {
  const { data, problem, reload, put } = useResource<{ data: Organization }>(organizationPath(id))
  if (data === undefined) {
    return (
      <Page title="Organization" up={UP}>
        <ProblemNote problem={problem} retry={reload} />
      </Page>
    )
  }
  const organization = data.data
  return (
    <Page title={organization.name} up={UP}>
      <div class="columns">
        <Section title="Name, plan and credits">
          <Form
            key={organization.updated_at}
            submit="Save"
            send={(fields) =>
              call<{ data: Organization }>('PATCH', organizationPath(id), { body: organizationIn(fields) })
            }
            done={(answer) => {
              put(answer)
              tell(`${answer.data.name} is saved`)
              void loadSession()
            }}
          >
            <OrganizationFields of={organization} />
          </Form>
        </Section>
        <Section title="About">
          <Facts
            rows={{
              Id: <Id id={organization.id} />,
              Plan: organization.plan,
              'Credits left': <Credits dollars={organization.credits_left} />,
              Created: <Time at={organization.created_at} />,
              Changed: <Time at={organization.updated_at} />,
              Calls: <a href={to('generations', null, { organization: id })}>What it has called</a>,
              Usage: <a href={to('usage', null, { organization: id })}>What it came to</a>,
            }}
          />
        </Section>
      </div>
    </Page>
  )
}
