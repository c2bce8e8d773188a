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
import { t } from '../language/texts.tsx'

/** Shows each component with its states, for those who write pages. docs/design.md describes them. */
export function ComponentsPage(): VNode {
  useTitle(t('Components of the pages'))
  return (
    <>
      <h1>{t('Components of the pages')}</h1>
      <Actions />
      <Marks />
      <Fields />
      <Notes />
    </>
  )
}

/** What a reader presses. */
function Actions(): VNode {
  return (
    <>
      <Part title={t('Colours')}>
        <div class="narrow">
          <ThemeChoice />
        </div>
      </Part>
      <Part title={t('Buttons')}>
        <p class="actions">
          <button type="button">{t('Button')}</button>
          <button type="button" class="main">
            {t('Main action')}
          </button>
          <button type="button" class="small">
            {t('Small')}
          </button>
          <button type="button" class="plain">
            {t('Plain')}
          </button>
          <button type="button" disabled>
            {t('Acting')}
          </button>
          <a class="button" href="/-/components">
            <Icon name="plus" /> {t('Link to the components')}
          </a>
        </p>
      </Part>
      <Part title={t('Menus and dialogs')}>
        <div class="actions">
          <Menu
            className=""
            button={
              <>
                {t('Menu')} <Icon name="chevron-down" />
              </>
            }
          >
            <a href="/explore">
              <Icon name="compass" /> {t('Repositories')}
            </a>
            <button type="button">
              <Icon name="star" /> {t('A button')}
            </button>
          </Menu>
          <button type="button" onClick={() => say(t('Something has happened.'))}>
            {t('Show a toast')}
          </button>
          <Confirmed
            action={t('Delete')}
            question={t('The thing is deleted for ever.')}
            act={nothing}
          />
        </div>
      </Part>
    </>
  )
}

/** Tabs, and what stands beside names. */
function Marks(): VNode {
  return (
    <>
      <Part title={t('Tabs')}>
        <Tabs label={t('Tabs')}>
          <a href="/-/components" aria-current="page">
            <Icon name="code" /> {t('Present')}
          </a>
          <a href="/explore">
            <Icon name="circle-dot" /> {t('Other')} <span class="tag">3</span>
          </a>
        </Tabs>
      </Part>
      <Part title={t('Badges and people')}>
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
      <Part title={t('Labels')}>
        <p>
          {['000000', '7f1d1d', 'b3261e', '808080', '0ea5e9', 'fde047', 'ffffff'].map((color) => (
            <LabelTag key={color} label={{ name: color, color }} />
          ))}
        </p>
      </Part>
    </>
  )
}

/** What a reader fills. */
function Fields(): VNode {
  return (
    <Part title={t('Forms')}>
      <form class="narrow" aria-label={t('Fields')} onSubmit={onSubmit(() => undefined)}>
        <Field label={t('A field')} name="field" hint={t('What belongs into the field.')} />
        <TextArea label={t('A text')} name="text" rows={3} />
        <Select
          label={t('A choice')}
          name="choice"
          value="one"
          options={[
            ['one', t('One')],
            ['two', t('Two')],
          ]}
        />
        <Checkbox label={t('A box')} name="box" />
      </form>
    </Part>
  )
}

/** What a page says. */
function Notes(): VNode {
  return (
    <Part title={t('Notes and states')}>
      <p class="note">{t('Something to know.')}</p>
      <FailureNote
        failure={{
          ...FAILURE,
          message: t('The change failed'),
          advice: t('Try again in a minute.'),
        }}
      />
      <p class="empty">{t('Nothing is here yet.')}</p>
      <p>
        <progress aria-label={t('Progress')} value={40} max={100} />
      </p>
      <Command label={t('A command')} text="git clone https://example.org/ada/tools.git" />
    </Part>
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
