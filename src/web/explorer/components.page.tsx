import type { ComponentChildren, VNode } from 'preact'
import { Command } from '../components/command.tsx'
import { Checkbox, Confirmed, Field, onSubmit, Select, TextArea } from '../components/forms.tsx'
import { Icon } from '../components/icon.tsx'
import { LabelTag } from '../components/label-tag.tsx'
import { FailureNote } from '../components/load.tsx'
import { Menu } from '../components/menu.tsx'
import { useTitle } from '../components/page.tsx'
import { Person } from '../components/person.tsx'
import { StateTag } from '../components/state-tag.tsx'
import { Tabs } from '../components/tabs.tsx'
import { ThemeChoice } from '../components/theme-choice.tsx'
import { say } from '../components/toast.tsx'

/** Shows each component with its states, for those who write pages. docs/design.md describes them. */
export function ComponentsPage(): VNode {
  useTitle('Components of the pages')
  return (
    <>
      <h1>Components of the pages</h1>
      <Part title="Colours">
        <div class="narrow">
          <ThemeChoice />
        </div>
      </Part>
      <Part title="Buttons">
        <p class="actions">
          <button type="button">Button</button>
          <button type="button" class="main">
            Main action
          </button>
          <button type="button" class="small">
            Small
          </button>
          <button type="button" class="plain">
            Plain
          </button>
          <button type="button" disabled>
            Acting
          </button>
          <a class="button" href="/-/components">
            <Icon name="plus" /> Link to the components
          </a>
        </p>
      </Part>
      <Part title="Menus and dialogs">
        <div class="actions">
          <Menu
            className=""
            button={
              <>
                Menu <Icon name="chevron-down" />
              </>
            }
          >
            <a href="/explore">
              <Icon name="compass" /> Repositories
            </a>
            <button type="button">
              <Icon name="star" /> A button
            </button>
          </Menu>
          <button type="button" onClick={() => say('Something has happened.')}>
            Show a toast
          </button>
          <Confirmed action="Delete" question="The thing is deleted for ever." act={nothing} />
        </div>
      </Part>
      <Part title="Tabs">
        <Tabs label="Tabs">
          <a href="/-/components" aria-current="page">
            <Icon name="code" /> Present
          </a>
          <a href="/explore">
            <Icon name="circle-dot" /> Other <span class="tag">3</span>
          </a>
        </Tabs>
      </Part>
      <Part title="Badges and people">
        <p>
          {['private', 'success', 'failure'].map((state) => (
            <span key={state} class={`tag ${state}`}>
              {state}
            </span>
          ))}
          {['open', 'closed'].map((state) => (
            <StateTag key={state} state={state} />
          ))}
          {['open', 'draft', 'closed', 'merged'].map((state) => (
            <StateTag key={state} state={state} isPull />
          ))}
        </p>
        <p>
          {['ada', 'bob', 'carol', 'dave', 'erin', 'frank'].map((name) => (
            <span key={name}>
              <Person login={name} />{' '}
            </span>
          ))}
        </p>
      </Part>
      <Part title="Labels">
        <p>
          {['000000', '7f1d1d', 'b3261e', '808080', '0ea5e9', 'fde047', 'ffffff'].map((color) => (
            <LabelTag key={color} label={{ name: color, color }} />
          ))}
        </p>
      </Part>
      <Part title="Forms">
        <form class="narrow" aria-label="Fields" onSubmit={onSubmit(() => undefined)}>
          <Field label="A field" name="field" hint="What belongs into the field." />
          <TextArea label="A text" name="text" rows={3} />
          <Select
            label="A choice"
            name="choice"
            value="one"
            options={[
              ['one', 'One'],
              ['two', 'Two'],
            ]}
          />
          <Checkbox label="A box" name="box" />
        </form>
      </Part>
      <Part title="Notes and states">
        <p class="note">Something to know.</p>
        <FailureNote
          failure={{ ...FAILURE, message: 'The change failed', advice: 'Try again in a minute.' }}
        />
        <p class="empty">Nothing is here yet.</p>
        <p>
          <progress aria-label="Progress" value={40} max={100} />
        </p>
        <Command label="A command" text="git clone https://example.org/ada/tools.git" />
      </Part>
    </>
  )
}

const FAILURE = {
  reason: 'UNAVAILABLE',
  metadata: {},
  isMissing: false,
  isSignedOut: false,
  needsReload: false,
}

async function nothing(): Promise<void> {
  // The page shows the dialog only.
}

function Part({ title, children }: { title: string; children: ComponentChildren }): VNode {
  const id = title.toLowerCase().replaceAll(' ', '-')
  return (
    <section aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      {children}
    </section>
  )
}
