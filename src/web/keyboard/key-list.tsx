import type { VNode } from 'preact'
import { useCallback } from 'preact/hooks'
import { useChoice } from '../components/stored.ts'
import { t } from '../language/texts.tsx'
import { KEYS_KEY, type KeyDialogProps } from './key-choice.ts'

/** The keys by place. Keys that follow each other have a space between them. */
const KEYS: readonly (readonly [place: string, keys: readonly (readonly [string, string])[]])[] = [
  [
    t('Everywhere'),
    [
      [
        'Ctrl+K',
        t('Find repositories, people, issues, pull requests, labels, views, files and pages'),
      ],
      ['?', t('Show the keys')],
      ['g d', t('Issues and pull requests that concern you')],
      ['g n', t('Notifications')],
    ],
  ],
  [
    t('In a repository'),
    [
      ['t', t('Find a file')],
      ['g c', t('Code')],
      ['g i', t('Issues')],
      ['g p', t('Pull requests')],
      ['g h', t('Commits')],
      ['g b', t('Branches')],
      ['g t', t('Tags')],
      ['g r', t('Releases')],
      ['g s', t('Settings')],
    ],
  ],
  [
    t('In a list of issues or pull requests'),
    [
      ['j', t('Go to the next row')],
      ['k', t('Go to the row before')],
      ['Enter', t('Open the row')],
      ['x', t('Select the row, or not')],
      ['a', t('Select all rows of the page, or none')],
      ['e', t('Change the selected rows')],
    ],
  ],
  [
    t('In a file'),
    [
      ['l', t('Go to a line')],
      ['b', t('Blame')],
      ['y', t('Put the commit into the address, which then shows the same for ever')],
    ],
  ],
  [t('In a text'), [['Ctrl+Enter', t('Send')]]],
]

const CHOICES = ['on', 'off'] as const

/** The list of keys, and the switch of those that are one letter. */
export function KeyList({ onClose }: KeyDialogProps): VNode {
  const open = useCallback((dialog: HTMLDialogElement | null) => dialog?.showModal(), [])
  const [choice, choose] = useChoice(KEYS_KEY, CHOICES)
  return (
    <dialog ref={open} class="keys" aria-label={t('Keys @keyboard')} onClose={onClose}>
      <h2>{t('Keys @keyboard')}</h2>
      {KEYS.map(([place, keys]) => (
        <section key={place} aria-label={place}>
          <h3>{place}</h3>
          <dl>
            {keys.map(([key, text]) => (
              <div key={key}>
                <dt>
                  <kbd>{key}</kbd>
                </dt>
                <dd>{text}</dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
      <label>
        <input
          type="checkbox"
          checked={choice === 'on'}
          onChange={({ currentTarget }) => choose(currentTarget.checked ? 'on' : 'off')}
        />{' '}
        {t('Keys of one letter do something in this browser')}
      </label>
      <p class="buttons">
        <button type="button" autofocus onClick={onClose}>
          {t('Close')}
        </button>
      </p>
    </dialog>
  )
}
