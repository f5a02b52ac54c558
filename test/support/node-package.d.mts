export declare function nodePackage(): string;
