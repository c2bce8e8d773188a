import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import type { Hook } from '#gen/branchline/v1/hook_pb.ts'
import { ActionForm } from '../components/action-form.tsx'
import { Checkbox, isChecked, Select } from '../components/choices.tsx'
import { Field, fieldOf } from '../components/field.tsx'

/** Values of the form of a webhook. Absent values are not changed. */
export interface HookDraft {
  readonly type: string
  readonly config: {
    readonly url: string
    readonly contentType: string
    readonly secret?: string
    readonly channel?: string
  }
  readonly events: string[]
  readonly branchFilter: string
  readonly authorizationHeader?: string
  readonly active: boolean
}

const TYPES = [
  ['gitea', 'JSON of Gitea and Forgejo'],
  ['slack', 'Message for Slack'],
  ['discord', 'Message for Discord'],
  ['msteams', 'Message for Microsoft Teams'],
] as const

const EVENTS = [
  ['push', 'Pushes'],
  ['create', 'New branches and tags'],
  ['delete', 'Deleted branches and tags'],
  ['pull_request', 'Everything about pull requests'],
  ['release', 'Releases'],
  ['status', 'Checks of commits'],
  ['fork', 'Forks'],
  ['repository', 'The repository itself'],
] as const

/** Creates a webhook, or changes one. */
export function HookForm(props: {
  /** Undefined for a new one. */
  hook?: Hook
  act: (draft: HookDraft) => Promise<unknown>
}): VNode {
  const { hook, act } = props
  const [type, setType] = useState(hook?.type ?? 'gitea')
  return (
    <ActionForm
      label="Webhook"
      submit={hook ? 'Save the webhook' : 'Create the webhook'}
      done="Saved."
      act={(form) => act(readDraft(form, hook))}
    >
      <Field
        label="Address"
        name="url"
        type="url"
        maxLength={2048}
        required
        defaultValue={hook?.config?.url ?? ''}
        hint="An HTTP or HTTPS address of another machine."
      />
      {!hook && (
        <div onChange={(event) => setType((event.target as HTMLSelectElement).value)}>
          <Select label="Form" name="type" value={type} options={TYPES} />
        </div>
      )}
      {type === 'slack' && (
        <Field label="Channel" name="channel" required defaultValue={hook?.config?.channel ?? ''} />
      )}
      <Select
        label="Content type"
        name="contentType"
        value={hook?.config?.contentType ?? 'json'}
        options={[
          ['json', 'JSON'],
          ['form', 'A form with JSON in the field “payload”'],
        ]}
      />
      <Secrets hook={hook} />
      <fieldset>
        <legend>Events</legend>
        {EVENTS.map(([name, text]) => (
          <Checkbox
            key={name}
            label={text}
            name={name}
            isChecked={hook ? hook.events.includes(name) : name === 'push'}
          />
        ))}
        <span class="hint">Without a choice, the webhook receives pushes.</span>
      </fieldset>
      <Field
        label="Branches (empty: all)"
        name="filter"
        maxLength={255}
        defaultValue={hook?.branchFilter ?? ''}
        hint="A pattern, such as main or release/*."
      />
      <Checkbox label="Active" name="active" isChecked={hook?.active ?? true} />
    </ActionForm>
  )
}

/** The server never returns secrets, so that an empty field changes none. */
function Secrets({ hook }: { hook: Hook | undefined }): VNode {
  const empty = hook ? 'empty: unchanged' : 'optional'
  return (
    <>
      <Field
        label={`Secret for signatures (${empty})`}
        name="secret"
        type="password"
        autocomplete="off"
        maxLength={255}
      />
      <Field
        label={`Authorization header (${empty})`}
        name="header"
        type="password"
        autocomplete="off"
        maxLength={1024}
      />
    </>
  )
}

function readDraft(form: HTMLFormElement, hook: Hook | undefined): HookDraft {
  const offered = EVENTS.map(([name]): string => name)
  const chosen = offered.filter((name) => isChecked(form, name))
  // Programs may have chosen events that the form does not offer.
  const others = hook?.events.filter((name) => !offered.includes(name)) ?? []
  const events = [...chosen, ...others]
  const [secret, channel] = [fieldOf(form, 'secret'), fieldOf(form, 'channel')]
  const header = fieldOf(form, 'header')
  return {
    type: hook?.type ?? fieldOf(form, 'type'),
    config: {
      url: fieldOf(form, 'url'),
      contentType: fieldOf(form, 'contentType'),
      ...(secret !== '' && { secret }),
      ...(channel !== '' && { channel }),
    },
    events: events.length > 0 ? events : ['push'],
    branchFilter: fieldOf(form, 'filter'),
    ...(header !== '' && { authorizationHeader: header }),
    active: isChecked(form, 'active'),
  }
}
