import { Failure } from '../setup/progress.mjs'

const UNRELEASED = '## [Unreleased]\n'

/**
 * Checks that a version is a Semantic Version that can be released: a later one than the present one,
 * or the present one if the changelog does not have it. Throws a `Failure` otherwise.
 * @param {string} current
 * @param {string} next
 * @param {string} changelog
 */
export function checkVersion(current, next, changelog) {
  if (!/^(?:0|[1-9]\d*)(?:\.(?:0|[1-9]\d*)){2}$/.test(next))
    throw new Failure(`${next || 'Nothing'} is no version: write it like 1.2.3.`)
  if (next === current && !changelog.includes(`\n## [${current}]`)) return
  const [nextParts = [], currentParts = []] = [next, current].map((text) =>
    text.split('.').map(Number),
  )
  const first = nextParts.findIndex((part, i) => part !== currentParts[i])
  if (first < 0 || (nextParts[first] ?? 0) < (currentParts[first] ?? 0))
    throw new Failure(`${next} does not follow the present version, ${current}.`)
}

/**
 * Returns the notes of the next release: what CHANGELOG.md has under Unreleased. Throws a `Failure`
 * if that is nothing.
 * @param {string} changelog
 */
export function notesOf(changelog) {
  const start = changelog.indexOf(UNRELEASED)
  const after = changelog.slice(start + UNRELEASED.length)
  const notes = start < 0 ? '' : (after.split(/^## \[/m, 1)[0] ?? '').trim()
  if (!/^- /m.test(notes)) throw new Failure('CHANGELOG.md has no entry under [Unreleased].')
  return `${notes}\n`
}

/**
 * Returns the changelog after the release: the entries under its version, and nothing unreleased.
 * @param {string} changelog
 * @param {string} version
 * @param {string} date such as `2026-05-01`
 */
export function releasedChangelog(changelog, version, date) {
  return changelog.replace(UNRELEASED, `${UNRELEASED}\n## [${version}] - ${date}\n`)
}

/**
 * Returns package.json or package-lock.json with another version of the package.
 * @param {string} json
 * @param {string} version
 */
export function withVersion(json, version) {
  const content = JSON.parse(json)
  content.version = version
  if (content.packages?.['']) content.packages[''].version = version
  return `${JSON.stringify(content, undefined, 2)}\n`
}
