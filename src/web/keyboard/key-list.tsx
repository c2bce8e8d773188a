import type { VNode } from 'preact'
import { useCallback } from 'preact/hooks'
import { useChoice } from '../components/stored.ts'
import { KEYS_KEY, type KeyDialogProps } from './key-choice.ts'

/** The keys by place. Keys that follow each other have a space between them. */
const KEYS: readonly (readonly [place: string, keys: readonly (readonly [string, string])[]])[] = [
  [
    'Everywhere',
    [
      [
        'Ctrl+K',
        'Find repositories, people, issues, pull requests, labels, views, files and pages',
      ],
      ['?', 'Show the keys'],
      ['g d', 'Issues and pull requests that concern you'],
      ['g n', 'Notifications'],
    ],
  ],
  [
    'In a repository',
    [
      ['t', 'Find a file'],
      ['g c', 'Code'],
      ['g i', 'Issues'],
      ['g p', 'Pull requests'],
      ['g h', 'Commits'],
      ['g b', 'Branches'],
      ['g t', 'Tags'],
      ['g r', 'Releases'],
      ['g s', 'Settings'],
    ],
  ],
  [
    'In a list of issues or pull requests',
    [
      ['j', 'Go to the next row'],
      ['k', 'Go to the row before'],
      ['Enter', 'Open the row'],
      ['x', 'Select the row, or not'],
      ['a', 'Select all rows of the page, or none'],
      ['e', 'Change the selected rows'],
    ],
  ],
  [
    'In a file',
    [
      ['l', 'Go to a line'],
      ['b', 'Blame'],
      ['y', 'Put the commit into the address, which then shows the same for ever'],
    ],
  ],
  ['In a text', [['Ctrl+Enter', 'Send']]],
]

const CHOICES = ['on', 'off'] as const

/** The list of keys, and the switch of those that are one letter. */
export function KeyList({ onClose }: KeyDialogProps): VNode {
  const open = useCallback((dialog: HTMLDialogElement | null) => dialog?.showModal(), [])
  const [choice, choose] = useChoice(KEYS_KEY, CHOICES)
  return (
    <dialog ref={open} class="keys" aria-label="Keys" onClose={onClose}>
      <h2>Keys</h2>
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
        Keys of one letter do something in this browser
      </label>
      <p class="buttons">
        <button type="button" autofocus onClick={onClose}>
          Close
        </button>
      </p>
    </dialog>
  )
}
