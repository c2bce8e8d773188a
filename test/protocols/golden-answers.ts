import { existsSync, readdirSync } from 'node:fs'
import { expect, it } from 'vitest'

/** What a call answered over REST, without what chance decides. */
export interface Answer {
  readonly status: number
  readonly body: unknown
}

/** The golden answers of some methods: in a folder, each stored once. */
export interface GoldenAnswers {
  /** Path of the folder, with a slash at its end. */
  readonly folder: string
  /** The names of the methods. */
  readonly names: readonly string[]
  /** The methods that answer the same as the one that is the key. */
  readonly sameAs: Readonly<Record<string, readonly string[]>>
  /** Returns the present answer of a method. */
  answerOf(name: string): Answer | undefined
}

/** The answers of all methods that send no content, such as `204 null`. */
const WITHOUT_CONTENT = 'without-content.json'

/**
 * Compares what methods answer with what is recorded: a name or a default that changes is seen in
 * review. Run Vitest with `--update` after a change that is meant.
 *
 * A file has the answer of one method, or of several that `sameAs` names. One more file lists the
 * answers without content.
 */
export function testGoldenAnswers({ folder, names, sameAs, answerOf }: GoldenAnswers): void {
  const models = new Map(
    Object.entries(sameAs).flatMap(([model, same]) => same.map((name) => [name, model] as const)),
  )
  const stored = () =>
    names.filter((name) => {
      const answer = answerOf(name)
      return !models.has(name) && answer !== undefined && hasContent(answer)
    })

  it.each(names.filter((name) => !models.has(name)))('%s', async (name) => {
    const answer = answerOf(name)
    if (!answer) throw new Error('there is no call of the method')
    if (hasContent(answer))
      await expect(textOf(answer)).toMatchFileSnapshot(`${folder}${name}.json`)
    else expect(existsSync(`${folder}${name}.json`), 'it had content').toBe(false)
  })

  it.each([...models])('%s, which is that of %s', (name, model) => {
    expect(answerOf(name)).toEqual(answerOf(model))
  })

  it('methods without content', async () => {
    const answers = names.toSorted().flatMap((name) => {
      const answer = answerOf(name)
      if (!answer || hasContent(answer)) return []
      return [[name, `${answer.status} ${JSON.stringify(answer.body)}`]]
    })
    await expect(textOf(Object.fromEntries(answers))).toMatchFileSnapshot(
      `${folder}${WITHOUT_CONTENT}`,
    )
  })

  it('is recorded once, for every method and for no other', () => {
    const kept = readdirSync(folder).filter((name) => name.endsWith('.json'))
    const files = stored().map((name) => `${name}.json`)
    expect(kept.sort()).toEqual([...files, WITHOUT_CONTENT].sort())
    const texts = stored().map((name) => textOf(answerOf(name)))
    const again = stored().filter((_, i) => texts.indexOf(texts[i] ?? '') !== i)
    expect(again, 'the answer of another method, which `sameAs` has to name').toEqual([])
  })
}

function hasContent({ body }: Answer): boolean {
  return typeof body === 'object' ? Object.keys(body ?? {}).length > 0 : true
}

function textOf(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`
}
