export declare const themes: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
