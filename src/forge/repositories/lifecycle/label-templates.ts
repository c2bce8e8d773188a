import { DomainError } from '../../core/errors.ts'

/** A label that a set adds to a new repository. */
export interface LabelTemplate {
  readonly name: string
  /** Six hexadecimal digits. */
  readonly color: string
  readonly description: string
  readonly exclusive: boolean
}

/** The sets that users of compatible systems know: name, colour, description. */
const SETS: Readonly<Record<string, readonly LabelTemplate[]>> = {
  Advanced: [
    label('Kind/Breaking', 'c62828', 'Changes what others rely on', true),
    label('Kind/Bug', 'ee0701', 'Something is not working', true),
    label('Kind/Documentation', '37474f', 'About the documentation', true),
    label('Kind/Enhancement', '84b6eb', 'Improves what exists', true),
    label('Kind/Feature', '0288d1', 'Something new', true),
    label('Kind/Security', '9c27b0', 'About security', true),
    label('Kind/Testing', '795548', 'About tests', true),
    label('Priority/Critical', 'b71c1c', 'Before everything else', true),
    label('Priority/High', 'd32f2f', 'Soon', true),
    label('Priority/Low', '4caf50', 'When there is time', true),
    label('Priority/Medium', 'e64a19', 'In its turn', true),
    label('Reviewed/Confirmed', '795548', 'Somebody has reproduced it', true),
    label('Reviewed/Duplicate', '616161', 'Reported before', true),
    label('Reviewed/Invalid', '546e7a', 'Not a fault of this project', true),
    label("Reviewed/Won't Fix", 'eeeeee', 'Stays as it is', true),
    label('Status/Abandoned', '222222', 'Nobody works on it any more', true),
    label('Status/Blocked', '880e4f', 'Waits for something else', true),
    label('Status/Need More Info', '424242', 'Waits for an answer of its author', true),
  ],
  Default: [
    label('bug', 'ee0701', 'Something is not working'),
    label('duplicate', 'cccccc', 'Reported before'),
    label('enhancement', '84b6eb', 'New feature'),
    label('help wanted', '128a0c', 'Help is welcome'),
    label('invalid', 'e6e6e6', 'Something is wrong with the report'),
    label('question', 'cc317c', 'More information is needed'),
    label('wontfix', 'ffffff', 'Stays as it is'),
  ],
}

/** Returns the names of all sets, in order. */
export function labelSetNames(): readonly string[] {
  return Object.keys(SETS).sort()
}

/**
 * Returns the labels of a set.
 *
 * @throws TEMPLATE_NOT_FOUND
 */
export function labelSet(name: string): readonly LabelTemplate[] {
  const labels = findLabelSet(name)
  if (!labels) throw new DomainError('TEMPLATE_NOT_FOUND', { name: name.slice(0, 100) })
  return labels
}

/** Returns the labels of a set; undefined if there is none of this name. */
export function findLabelSet(name: string): readonly LabelTemplate[] | undefined {
  return Object.hasOwn(SETS, name) ? SETS[name] : undefined
}

function label(name: string, color: string, description: string, exclusive = false): LabelTemplate {
  return { name, color, description, exclusive }
}
