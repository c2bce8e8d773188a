/** @typedef {import('./tally.mjs').Tally} Tally */

/** More failures than these are no coincidence. */
const MAX_REPEATED = 5

/**
 * Runs the files of a few failed tests again, alone on the machine. A test that passes then depends on
 * the load of the machine. Such a test is named as unstable: a fault to be fixed, but no reason to
 * refuse the change that was tested.
 * @param {Tally} tally of the first run
 * @param {(files: readonly string[]) => Promise<Tally>} runAlone runs the tests of files
 * @returns {Promise<Tally>}
 */
export async function repeatFailures(tally, runAlone) {
  const files = new Set(tally.failures.map(fileOf))
  if (tally.failures.length === 0 || tally.failures.length > MAX_REPEATED) return tally
  const known = [...files].flatMap((file) => file ?? [])
  if (known.length < files.size) return tally
  const { failures } = await runAlone(known)
  const unstable = tally.failures.filter((name) => !failures.includes(name))
  return { ...tally, passed: tally.passed + unstable.length, failures, unstable }
}

/** @returns the file of a failure; undefined if the failure belongs to no file */
function fileOf(/** @type {string} */ failure) {
  return /^\S+\.test\.tsx?(?=$|:| > )/.exec(failure)?.[0]
}
