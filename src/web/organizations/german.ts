import type { Catalogue } from '../language/catalogue.ts'

/** Texts of organisations, in German. */
export const german = {
  'Your organisations': 'Ihre Organisationen',
  'You are in no organisation.': 'Sie gehören zu keiner Organisation.',
  'New organisation': 'Neue Organisation',
  'An organisation owns repositories, and its teams say who may do what.':
    'Einer Organisation gehören Repositorys, und ihre Teams legen fest, wer was darf.',
  'Create the organisation': 'Organisation anlegen',
  'Display name (optional)': 'Anzeigename (optional)',
  'Public: everybody': 'Öffentlich: alle',
  'Limited: everybody with an account': 'Eingeschränkt: alle, die ein Konto haben',
  'Private: members': 'Privat: Mitglieder',
  People: 'Personen',
  'Settings of the organisation': 'Einstellungen der Organisation',
  Members: 'Mitglieder',
  'No member is public.': 'Kein Mitglied ist öffentlich.',
  'and {count} others': {
    one: 'und {count} weitere Person',
    other: 'und {count} weitere Personen',
  },
  Teams: 'Teams',
  'No teams are visible to you.': 'Für Sie sind keine Teams sichtbar.',
  'Settings of an organisation': 'Einstellungen einer Organisation',
  'Only owners of the organisation see and change its settings.':
    'Nur Eigentümer der Organisation können die Einstellungen ansehen und ändern.',
  'No members.': 'Keine Mitglieder.',
  Location: 'Ort',
  'Administrators of a repository choose its teams':
    'Administratoren eines Repositorys wählen dessen Teams',
  'Delete the organisation': 'Organisation löschen',
  'The organisation must have no repositories. Its teams are deleted too, and its name is free afterwards.':
    'Die Organisation darf keine Repositorys haben. Ihre Teams werden ebenfalls gelöscht, und ihr Name ist danach frei.',
  'Members are the users in the {teams}. Who is removed here leaves all teams.':
    'Mitglieder sind die Benutzer in den {teams}. Wer hier entfernt wird, verlässt alle Teams.',
  teams: 'Teams',
  'New team': 'Neues Team',
  'All teams': 'Alle Teams',
  'The team has access to all repositories of the organisation.':
    'Das Team hat Zugriff auf alle Repositorys der Organisation.',
  'Add a member': 'Ein Mitglied hinzufügen',
  'Add the member': 'Mitglied hinzufügen',
  'Add a repository': 'Ein Repository hinzufügen',
  'Add the repository': 'Repository hinzufügen',
  'Repository of the organisation': 'Repository der Organisation',
  'Delete the team': 'Team löschen',
  'Members without another team leave the organisation.':
    'Mitglieder ohne ein anderes Team verlassen die Organisation.',
  'Everybody who may see the organisation': 'Alle, die die Organisation sehen dürfen',
  'Members of the organisation': 'Mitglieder der Organisation',
  'Members of the team, and owners': 'Mitglieder des Teams und Eigentümer',
  Team: 'Team',
  'Save the team': 'Team speichern',
  'Create the team': 'Team anlegen',
  'Letters, digits, hyphens, underscores and dots.':
    'Buchstaben, Ziffern, Bindestriche, Unterstriche und Punkte.',
  'Access to its repositories': 'Zugriff auf die Repositorys des Teams',
  'None @access': 'Keiner',
  'Who sees the team': 'Wer das Team sieht',
  'All repositories of the organisation, future ones too':
    'Alle Repositorys der Organisation, auch künftige',
  'Members may create repositories of the organisation':
    'Mitglieder dürfen Repositorys der Organisation anlegen',
} satisfies Catalogue
